"""The columns of a user's tables: recognised in several languages, proposed, or asked for in one message."""

import shlex
from pathlib import Path

import pytest

from benchmark.__main__ import main
from data_pipelines.own_data.columns import Columns, find_columns
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.own_data.read import OwnData, read_own_data
from data_pipelines.own_data.table import OptionNeededError, read_header
from tests.shop_chain import write_shop_chain

HEADERS = {
    "English": "CustomerID,StockCode,InvoiceDate,Description,Quantity,stars",
    "old exports": "user_id,item_no,timestamp,keywords,qty,Rating",
    "German": "Kundennr,Artikelnr,Kaufdatum,Artikelbezeichnung,Menge,Bewertung",
    "German shops": "Filiale,Produkt-Nr.,Bondatum,Warengruppe,Stückzahl,Sterne",
    "German without umlauts": "Kaeufer-ID,Ware,Zeitpunkt,Beschreibung,Stueck,Wertung",
    "French": "id_client,Référence produit,Date d'achat,Libellé,Quantité,Avis",
    "French shops": "Magasin,Code article,date_vente,Désignation,qté,étoiles",
    "Spanish": "ID de cliente,Código de artículo,Fecha de compra,Descripción,Cantidad,Valoración",
    "Italian": "Codice cliente,Articolo,Data ordine,Descrizione,Quantità,Voto",
    "Portuguese": "Usuário,Cód. produto,Data da compra,Descrição do produto,Qtd,Avaliação",
    "Dutch": "Klantnummer,Artikelnr,Besteldatum,Omschrijving,Aantal,Beoordeling",
}
ROWS = [f"u{row % 3},i{row % 4},2024-05-{row + 13},red cup {row % 4},{row % 2 + 1},{row % 5}" for row in range(12)]


def write(path: Path, header: str, rows: list[str] | None = None) -> Path:
    path.write_text("\n".join([header, *(ROWS if rows is None else rows)]) + "\n", encoding="utf-8")
    return path


def columns_of(path: Path, **options: object) -> Columns:
    return find_columns(read_header(path), None, ImportOptions(**options))  # type: ignore[arg-type]


def read(path: Path, **options: object) -> OwnData:
    return read_own_data(path, ImportOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("language", HEADERS)
def test_columns_are_recognised_in_every_order(tmp_path: Path, language: str):
    names = HEADERS[language].split(",")
    for turn in range(len(names)):
        order = [*range(turn, len(names)), *range(turn)]
        rows = [",".join(row.split(",")[place] for place in order) for row in ROWS]
        columns = columns_of(write(tmp_path / "p.csv", ",".join(names[place] for place in order), rows))
        found = columns.user, columns.item, columns.time, columns.words, columns.quantity
        assert found == (names[0], names[1], names[2], (names[3],), names[4])
        assert columns.rating is None  # ratings are used only if they are named
        assert not columns.proposals


def test_all_columns_that_are_missing_are_one_message_with_a_command_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    path = write(tmp_path / "my file.csv", "wer,was,wann,worum,wieviel,wie")
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    assert main(["data", "import", "--interactions", str(path), "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no column 'user' or similar; name it with --user-column; no column 'item' or similar" in line
    program, *words = shlex.split(line.partition("; try: ")[2])
    assert program == "fedbandit"
    assert {"--time-column", "wann", "--words-column", "worum"} < {*words}
    assert main(words) == 0
    assert "user wer, item was, time wann, words worum" in capsys.readouterr().out


def test_of_several_clients_the_one_with_fewer_empty_fields_is_suggested(tmp_path: Path):
    rows = [f"F{row % 3},{'K1' if row % 2 else ''},a{row % 4}" for row in range(12)]
    with pytest.raises(OptionNeededError, match=r"could be the user \('Filiale', 'Kundennr'\)") as error:
        columns_of(write(tmp_path / "p.csv", "Filiale,Kundennr,Artikelnr", rows))
    assert error.value.options == ("--user-column", "Filiale")


def test_dates_and_texts_under_unknown_names_are_proposed_and_not_used(tmp_path: Path):
    path = write(tmp_path / "p.csv", "user,item,wann,worum,x,y")
    data = read(path)
    proposals = ["'wann' has dates: --time-column wann", "'worum' has texts: --words-column worum"]
    assert data.features == "co-occurrence"
    assert all(text in data.contents.notes and text in data.profile.columns for text in proposals)
    assert columns_of(path, time_column="wann", words_column=["worum"]).proposals == ()


def test_all_columns_with_texts_describe_an_item(tmp_path: Path):
    path = write(tmp_path / "p.csv", "user,item,title,category", ["a,1,cup,red things", "b,2,plate,blue things"])
    assert {"cup", "red", "plate", "blue"} <= {*read(path).contents.words.vocabulary}


def test_returns_are_bad_rows_and_never_purchases(tmp_path: Path):
    path = write(tmp_path / "p.csv", "user,item,quantity", ["a,1,2", "a,2,-1", "b,1,0", "b,2,", "b,3,1"])
    with pytest.raises(OptionNeededError, match=r"line 3: quantity must be above 0 .*, got '-1' \(3 rows\)"):
        read(path)
    data = read(path, skip_bad_rows=True)
    assert (data.profile.interactions, data.profile.bad_rows) == (2, 3)
    assert "3 bad rows left out: quantity must be above 0 (other rows are returns)" in data.contents.notes


def test_a_column_of_units_is_not_one_of_quantities(tmp_path: Path):
    path = write(tmp_path / "p.csv", "user,item,units", ["a,1,kg", "b,2,pieces", "b,3,kg"])
    assert columns_of(path).quantity is None
    assert read(path).profile.interactions == 3


def test_the_sales_of_a_shop_chain_are_read_or_refused_for_every_reason(tmp_path: Path):
    path = write_shop_chain(tmp_path / "verkaeufe.csv", rows=3000)
    assert path.read_bytes() == write_shop_chain(tmp_path / "again.csv", rows=3000).read_bytes()
    with pytest.raises(OptionNeededError, match=r"Bondatum must be like the other dates .* Menge must be above 0"):
        read(path, user_column="Filiale")
    data = read(path, user_column="Filiale", skip_bad_rows=True, repeats="keep")
    profile = data.profile
    assert profile.rows == 3000 + 45 + 1  # sales, duplicates, the sum
    assert profile.interactions == profile.rows - profile.bad_rows
    assert 60 <= profile.bad_rows <= 60 + 2 + 3 + 1 + 5  # returns, dates, products, the sum, and their duplicates
    assert 35 <= profile.duplicates <= 45
    assert profile.times == "dates day.month.year, 2025-01-02 to 2025-07-02"
    assert "süßwaren" in data.contents.words.vocabulary  # Latin-1 was read
