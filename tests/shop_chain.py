"""The sales of a chain of 400 shops, as a till system with German settings exports them: `python -m tests.shop_chain`.

The file is messy in the ways that such files are: Latin-1, semicolons, decimal commas, German dates, returns with
negative quantities, sales without a customer, rows that are there twice, dates of zeros, and a row with the sum.
Products have words, and every shop sells more of some groups of products than of others.
"""

import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

ROWS, SHOPS, PRODUCTS, DAYS, CUSTOMERS = 60_000, 400, 800, 182, 9_000
RETURNS, DUPLICATES, WITHOUT_DATE, WITHOUT_PRODUCT = 1_200, 900, 40, 60
HEADER = ("Filiale", "Bondatum", "Kundennr", "Artikelnr", "Artikelbezeichnung", "Warengruppe", "Preis", "Menge")
GROUPS = {
    "Süßwaren": ("Schokolade", "Gummibärchen", "Kekse", "Lakritz"),
    "Getränke": ("Apfelsaft", "Mineralwasser", "Limonade", "Kräutertee"),
    "Bäckerei": ("Brötchen", "Vollkornbrot", "Käsekuchen", "Brezel"),
    "Drogerie": ("Seife", "Zahnbürste", "Spülmittel", "Tücher"),
    "Büro": ("Heft", "Füller", "Radiergummi", "Ordner"),
    "Gemüse": ("Möhren", "Kürbis", "Grünkohl", "Tomaten"),
}
KINDS = ("groß", "klein", "fein", "mild", "kräftig", "Bio", "Familie", "Vorrat")


def write_shop_chain(path: Path, rows: int = ROWS, seed: int = 0) -> Path:
    """Write the file; the same seed gives the same bytes."""
    random = np.random.default_rng(seed)
    scale = rows / ROWS
    groups = random.integers(len(GROUPS), size=PRODUCTS)
    names = [_name(random, group) for group in groups]
    prices = random.integers(49, 2_999, size=PRODUCTS)
    popularity = 1 / np.arange(1, PRODUCTS + 1) ** 0.8
    taste = random.dirichlet(np.full(len(GROUPS), 0.4), size=SHOPS)
    start = datetime(2025, 1, 2, 8)
    lines = []
    shops = random.integers(SHOPS, size=rows)
    for shop in shops:
        weights = popularity * taste[shop, groups]
        product = int(random.choice(PRODUCTS, p=weights / weights.sum()))
        at = start + timedelta(days=int(random.integers(DAYS)), minutes=int(random.integers(720)))
        customer = f"K{random.integers(CUSTOMERS):05}" if random.random() < 0.54 else ""
        quantity = int(random.geometric(0.7))
        lines.append([shop, at.strftime("%d.%m.%Y %H:%M"), customer, product, quantity])
    for place in random.choice(rows, size=int(RETURNS * scale), replace=False):
        lines[place][4] *= -1
    for place in random.choice(rows, size=int(WITHOUT_DATE * scale), replace=False):
        lines[place][1] = "00.00.0000"
    without_product = {*random.choice(rows, size=int(WITHOUT_PRODUCT * scale), replace=False).tolist()}
    texts = [
        ";".join(
            (
                f"F{shop + 1:03}",
                at,
                customer,
                "" if place in without_product else str(10_000 + product),
                names[product],
                [*GROUPS][groups[product]],
                f"{prices[product] / 100:.2f}".replace(".", ","),
                str(quantity),
            )
        )
        for place, (shop, at, customer, product, quantity) in enumerate(lines)
    ]
    twice = random.choice(rows, size=int(DUPLICATES * scale), replace=False)
    for place in sorted(twice.tolist(), reverse=True):
        texts.insert(place, texts[place])
    total = f"{sum(prices[line[3]] * line[4] for line in lines) / 100:.2f}".replace(".", ",")
    path.write_bytes("\r\n".join([";".join(HEADER), *texts, f"Summe;;;;;;{total};", ""]).encode("latin-1"))
    return path


def _name(random: np.random.Generator, group: int) -> str:
    things = [*GROUPS.values()][group]
    kinds = random.choice(KINDS, size=2, replace=False)
    return f"{things[random.integers(len(things))]} {kinds[0]} {kinds[1]}"


if __name__ == "__main__":
    print(write_shop_chain(Path(sys.argv[1] if len(sys.argv) > 1 else "verkaeufe.csv")))
