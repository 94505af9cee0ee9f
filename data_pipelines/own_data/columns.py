"""The columns of a user's tables: given by name, recognised by their names in several languages, or proposed."""

import re
import shlex
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from data_pipelines.own_data.table import Header, OptionNeededError, sample_rows
from data_pipelines.support.messages import did_you_mean, one_line

if TYPE_CHECKING:
    from data_pipelines.own_data.options import ImportOptions

MAX_NAMES = 1000
SAMPLE_ROWS = 1000

# Names in English, German, French, Spanish, Italian, Portuguese, Dutch and some others, without accents.
PEOPLE = """user customer client visitor member account buyer shopper reader person device kunde kunden benutzer nutzer
    kaufer kaeufer besucher mitglied konto leser kundenkarte acheteur utilisateur visiteur membre abonne lecteur
    cliente clienti clientes usuario utente utenti comprador socio miembro acquirente membro utilizador klant klanten
    gebruiker koper bezoeker lid kund anvandare bruker bruger klient uzytkownik"""
SHOPS = """store shop branch outlet filiale filialen filial laden markt geschaft geschaeft standort magasin boutique
    succursale tienda sucursal negozio puntovendita loja winkel filiaal vestiging butik sklep"""
THINGS = """item product stock article movie film book artist song track artikel produkt ware waren buch lied produit
    livre articulo producto libro pelicula articolo prodotto artigo produto livro filme boek vara vare towar"""
ITEM_CODES = "sku asin isbn url ean gtin"
AFFIXES = """id no nr num number code key nummer nro numero cod codigo codice kennung schluessel schlussel ref
    reference referenz referencia riferimento"""
OF = "of de d du da do del della des der di van"
EVENTS = """event order invoice purchase created transaction visit click rating bon kauf bestell bestellung rechnungs
    rechnung verkaufs verkauf beleg buchungs transaktions auftrags besuchs achat commande vente facture visite compra
    venta pedido factura visita acquisto ordine vendita fattura venda fatura aankoop bestel verkoop factuur kop salg"""
TIMES = """time timestamp date datetime when ts day unixtime datum zeit zeitpunkt zeitstempel tag horodatage temps
    dateheure fecha fechahora momento data dataora datahora tijd tijdstip tidspunkt dato"""
TEXTS = """words description title name text tags keywords category categories genre genres bezeichnung beschreibung
    titel stichworte stichworter schlagworte schlagworter kategorie warengruppe gattung libelle designation titre nom
    texte motscles categorie etiquettes rayon descripcion titulo nombre texto palabrasclave categoria etiquetas genero
    descrizione titolo nome testo parolechiave etichette genere descricao palavraschave omschrijving beschrijving naam
    tekst trefwoorden beskrivning beskrivelse namn navn opis nazwa"""
RATINGS = """rating stars score reward bewertung note sterne wertung avis etoiles evaluation valoracion puntuacion
    estrellas calificacion valutazione voto punteggio stelle avaliacao nota estrelas pontuacao beoordeling waardering
    sterren cijfer betyg"""
QUANTITIES = """quantity qty units pieces menge anzahl stuck stueck stuckzahl stueckzahl quantite qte cantidad cant
    unidades quantita qta pezzi quantidade qtd aantal hoeveelheid stuks antal ilosc"""


@dataclass(frozen=True)
class Role:
    """What a column is for, and the pattern of the names by which it is recognised."""

    name: str
    pattern: str

    @property
    def option(self) -> str:
        """The option that names the column."""
        return f"--{self.name}-column"

    @property
    def default(self) -> str:
        """The name that takes precedence over all others."""
        return "item" if self is ID else self.name

    def candidates(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are recognised: the default name alone, or all that fit."""
        if self.default in names:
            return [self.default]
        return [name for name in names if re.fullmatch(self.pattern, _plain(name))]


def _plain(name: str) -> str:
    """Return a name in lower case, without accents and without anything but letters and digits."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]+", "", "".join(letter for letter in letters if not unicodedata.combining(letter)))


def _any(*words: str) -> str:
    return f"(?:{'|'.join(' '.join(words).split())})"


_AFFIX, _OF, _THING = f"{_any(AFFIXES)}?", f"{_any(OF)}?", f"(?:{_any(THINGS)})?"
_ITEM = f"{_any(ITEM_CODES)}|{_AFFIX}{_OF}{_any(THINGS)}{_AFFIX}"
USER = Role("user", f"uid|{_AFFIX}{_OF}{_any(PEOPLE, SHOPS)}{_AFFIX}")
ITEM = Role("item", _ITEM)
ID = Role("id", f"{_ITEM}|id|code")
_EVENT, _TIME = _any(EVENTS), _any(TIMES)
TIME = Role("time", f"at|{_EVENT}(?:at|on)|(?:{_EVENT}{_OF})?{_TIME}|{_TIME}{_OF}{_EVENT}")
WORDS = Role("words", f"{_THING}s?{_any(TEXTS)}|{_any(TEXTS)}{_OF}{_THING}")
QUANTITY = Role("quantity", f"{_any(QUANTITIES)}")
RATING = Role("rating", f"{_any(RATINGS)}")
"""Only proposed: a column of ratings is used if the user names it."""

VALUE = Role("value", "")
"""Never recognised: a value is used if the user names it."""

PRODUCT = r"\s*[*×]\s*"
"""Between the columns of a value such as `price*quantity`."""


DATE_START = r"\s*\d{1,4}([./-])\d{1,2}\1\d{1,4}(\D|$)"
TWO_WORDS = r"\s*[^\W\d_]{2,}[\W_]+[^\W\d_]{2,}"
DECIMAL = r"\s*[+-]?\d*[.,]\d+\s*$"
NUMBER = r"\s*[+-]?\d+([.,]\d+)?\s*$"
MAX_DISTINCT = 0.9
"""A column with more distinct values than this share of its rows is not proposed as ids."""


@dataclass(frozen=True)
class Columns:
    """The columns of the interactions, and those with words, of either table."""

    user: str
    item: str
    time: str | None
    rating: str | None
    quantity: str | None
    id: str | None
    words: tuple[str, ...]
    value: tuple[str, ...] = ()
    """The columns whose product is what an interaction is worth."""
    proposals: tuple[str, ...] = ()
    """Sentences on columns that are not used and could be."""

    def roles(self) -> dict[str, Any]:
        """Return the column of each role."""
        return {name: value for name, value in vars(self).items() if name != "proposals"}


def find_columns(header: Header, items: Header | None, options: "ImportOptions") -> Columns:
    """Return the columns that are given or recognised.

    A given name that does not exist is an error. All columns that are missing or ambiguous are one error, with the
    options that would name them.
    """
    search = item_search = _Search(header)
    user = search.column(USER, options.user_column, is_required=True)
    item = search.column(ITEM, options.item_column, is_required=True)
    time = search.column(TIME, options.time_column)
    quantity = search.column(QUANTITY, options.quantity_column, pattern=NUMBER)
    rating = None if options.rating_column is None else search.column(RATING, options.rating_column)
    value = search.factors(options.value_column)
    identifier = None
    if items is not None:
        item_search = _Search(items)
        is_same = ID.default not in items.names and item in items.names
        identifier = item_search.column(ID, options.id_column or (item if is_same else None), is_required=True)
    words: tuple[str, ...] = ()
    if options.features in (None, "words"):
        is_required = items is not None or options.features == "words"
        words = item_search.words(options.words_column, is_required=is_required)
    proposed = [] if time or TIME in search.needs else search.proposed(TIME, "dates", DATE_START)
    if options.features is None and items is None and not words:
        proposed += search.proposed(WORDS, "texts", TWO_WORDS)
    searches = [each for each in dict.fromkeys((search, item_search)) if each.needs]
    if searches:
        guesses = [(role, name) for each in searches for role, name in each.guesses().items()]
        suggested = [*guesses, *((role, name) for role, name, _ in proposed)]
        raise OptionNeededError(
            one_line("; ".join(each.error() for each in searches)),
            [word for role, name in suggested for word in (role.option, name)],
        )
    used = [name for name in (user, item, time, rating, quantity) if name]
    if len(set(used)) < len(used):
        raise ValueError(f"user, item, time, rating and quantity must be different columns, got {', '.join(used)}")
    sentences = tuple(
        one_line(f"{name!r} has {kind}: {role.option} {shlex.quote(name)}") for role, name, kind in proposed
    )
    return Columns(str(user), str(item), time, rating, quantity, identifier, words, value, sentences)


class _Search:
    """Looks for the columns of one table, and collects those that the user has to name."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._used: list[str] = []
        self.needs: dict[Role, list[str]] = {}
        """The candidates of each role that has none or several."""

    def column(self, role: Role, given: str | None, *, is_required: bool = False, pattern: str = "") -> str | None:
        """Return the column of a role; None if there is none, or if the user has to name it.

        Most values of a column that is recognised must match the pattern.
        """
        candidates = role.candidates(self._header.names) if given is None else [self._checked(role, given)]
        if pattern and candidates and given is None:
            candidates = [name for name in candidates if name in self._like(pattern)]
        if len(candidates) > 1 or (is_required and not candidates):
            self.needs[role] = candidates
            return None
        self._used += candidates
        return candidates[0] if candidates else None

    def factors(self, given: str | None) -> tuple[str, ...]:
        """Return the columns whose product is the value: one, or several as in `price*quantity`."""
        if given is None:
            return ()
        parts = [given] if given in self._header.names else re.split(PRODUCT, given.strip())
        return tuple(self._checked(VALUE, name) for name in parts)

    def words(self, given: Sequence[str] | None, *, is_required: bool) -> tuple[str, ...]:
        """Return the columns with texts: several describe an item together."""
        names = [self._checked(WORDS, name) for name in given] if given else WORDS.candidates(self._header.names)
        if is_required and not names:
            self.needs[WORDS] = []
        return tuple(name for name in names if given or name not in self._used)

    def _checked(self, role: Role, name: str) -> str:
        if name not in self._header.names:
            hint = did_you_mean(name, self._header.names)
            reason = f"has no column {name!r}{hint}, see {role.option}; {self._listed}"
            raise ValueError(one_line(f"{self._header.path} {reason}"))
        return name

    @property
    def _listed(self) -> str:
        return f"its columns are {str(self._header.names)[1:-1][:MAX_NAMES]}"

    def error(self) -> str:
        """Return what the user has to name."""
        needs = [
            f"several columns that could be the {role.default} ({str(names)[1:-1]}); choose with {role.option}"
            if names
            else f"no column {role.default!r} or similar; name it with {role.option}"
            for role, names in self.needs.items()
        ]
        return f"{self._header.path} has {'; '.join(needs)}; {self._listed}"

    def guesses(self) -> dict[Role, str]:
        """Return a column for each role that has none or several: of several, the one with the fewest empty fields."""
        guesses: dict[Role, str] = {}
        for role, names in self.needs.items():
            candidates = names or (self._like(TWO_WORDS) if role is WORDS else self._ids())
            free = [name for name in candidates if name not in guesses.values()]
            guesses[role] = max(free, key=lambda name: len(self._sample[name]) if names else 0, default="NAME")
        return guesses

    def proposed(self, role: Role, kind: str, pattern: str) -> list[tuple[Role, str, str]]:
        """Return the first unused column with values of a kind, for a role that no column has."""
        return [(role, name, kind) for name in self._like(pattern)[:1]]

    @cached_property
    def _sample(self) -> dict[str, list[str]]:
        """The first values of each column, without empty ones."""
        rows = sample_rows(self._header)
        return {
            name: [row[place] for row in rows if len(row) > place and row[place].strip()]
            for place, name in enumerate(self._header.names)
        }

    def _like(self, pattern: str) -> list[str]:
        """Return the unused columns most of whose values match a pattern."""
        return [
            name
            for name, values in self._sample.items()
            if name not in self._used and 2 * sum(bool(re.match(pattern, value)) for value in values) > len(values)
        ]

    def _ids(self) -> list[str]:
        """Return the unused columns that could be ids: repeated values that are not dates, texts or decimal numbers."""
        others = {name for pattern in (DATE_START, TWO_WORDS, DECIMAL) for name in self._like(pattern)}
        return [
            name
            for name, values in self._sample.items()
            if name not in (*self._used, *others) and 1 < len({*values}) <= max(MAX_DISTINCT * len(values), 1)
        ]
