"""The shop by hand: carts, stock, orders and the database. To a conversation these are the other channel."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import store
from assistant.bookshop import Bookshop
from assistant.report import cart_json
from assistant.settings import DEMO_CUSTOMER, database_url
from terminal.flags import AsJson, Customer, Database
from terminal.printing import draw_cart
from terminal.shell import BY, out, print_json, shop_at

cart = typer.Typer(help="Show and change a cart.", no_args_is_help=True)
stock = typer.Typer(help="The warehouse.", no_args_is_help=True)
order = typer.Typer(help="The order desk.", no_args_is_help=True)
price = typer.Typer(help="The price list.", no_args_is_help=True)
db = typer.Typer(help="The shop's database.", no_args_is_help=True)

Book = Annotated[int, typer.Argument(metavar="BOOK", help="The id of a book.")]


@cart.command("show")
def cart_show(customer: Customer = DEMO_CUSTOMER, database: Database = None, as_json: AsJson = False) -> None:
    """Show a cart."""
    _show(database, as_json, lambda shop: store.view_cart(shop.engine, customer))


@cart.command("add")
def cart_add(
    book: Book,
    quantity: Annotated[int, typer.Argument(help="How many copies.")] = 1,
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Add copies of a book."""

    def add(shop: Bookshop) -> store.CartView:
        store.add_to_cart(shop.engine, customer, book, quantity, by=BY)
        return store.view_cart(shop.engine, customer)

    _show(database, as_json, add)


@cart.command("set")
def cart_set(
    book: Book,
    quantity: Annotated[int, typer.Argument(help="How many copies; 0 takes the book out.")],
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set how many copies of a book are in the cart."""
    _show(database, as_json, lambda shop: store.set_quantity(shop.engine, customer, book, quantity, by=BY))


@cart.command("remove")
def cart_remove(
    book: Book, customer: Customer = DEMO_CUSTOMER, database: Database = None, as_json: AsJson = False
) -> None:
    """Take a book out of the cart."""
    _show(database, as_json, lambda shop: store.remove_from_cart(shop.engine, customer, book, by=BY))


@cart.command("clear")
def cart_clear(customer: Customer = DEMO_CUSTOMER, database: Database = None, as_json: AsJson = False) -> None:
    """Empty the cart."""
    _show(database, as_json, lambda shop: store.clear_cart(shop.engine, customer, by=BY))


@stock.command("set")
def stock_set(
    book: Book,
    copies: Annotated[int, typer.Argument(help="How many copies are in stock from now on.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set how many copies of a book are in stock."""
    with shop_at(database) as shop:
        now = store.set_stock(shop.engine, book, copies, by=BY)
    if as_json:
        print_json({"book_id": now.book_id, "title": now.title, "in_stock": now.in_stock, "version": now.version})
    else:
        out().print(f"{now.title}: {now.in_stock} in stock", markup=False)


# A callback keeps `stock set` two words, and its like: a Typer with a single command swallows its name.
@stock.callback()
@order.callback()
@price.callback()
def _group() -> None:
    pass


@order.command("set")
def order_set(
    order_id: Annotated[str, typer.Argument(metavar="ORDER", help="1001 or O-1001.")],
    status: Annotated[str, typer.Argument(help=", ".join(store.STATUSES))],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set the status of an order."""
    with shop_at(database) as shop:
        now = store.set_order_status(shop.engine, store.parse_order_id(order_id), status, by=BY)
    if as_json:
        print_json({"order_id": now.id, "status": now.status, "version": now.version})
    else:
        out().print(f"O-{now.id}: {now.status}", markup=False)


@price.command("set")
def price_set(
    book: Book,
    dollars: Annotated[str, typer.Argument(metavar="DOLLARS", help="What it costs from now on, such as 16.50.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set what a book costs; carts that hold it have another total from then on."""
    with shop_at(database) as shop:
        now = store.set_price(shop.engine, book, store.parse_price(dollars), by=BY)
    if as_json:
        print_json({"book_id": now.id, "title": now.title, "price": store.decimal_text(now.price_cents)})
    else:
        out().print(f"{now.title}: {store.dollars(now.price_cents)}", markup=False)


@db.command("init")
def db_init(database: Database = None) -> None:
    """Create the shop where there is none yet, with its seed books, customers and orders."""
    store.init_shop(database or database_url()).dispose()
    out().print("The shop is ready.")


@db.command("reset")
def db_reset(
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Put the shop back to its seed: carts, orders and stock as on the first day. Conversations stay."""
    if not yes:
        typer.confirm("This empties all carts and undoes all changes. Go on?", abort=True)
    store.reset_shop(database or database_url())
    out().print("The shop is as on its first day.")


@db.command("check")
def db_check(database: Database = None, as_json: AsJson = False) -> int:
    """Check the database; exit status 1 if something is wrong."""
    with shop_at(database) as shop:
        problems = store.check_shop(shop.engine)
    if as_json:
        print_json({"problems": problems})
    else:
        out().print("\n".join(problems) or "All is well.", markup=False)
    return 1 if problems else 0


@db.command("import")
def db_import(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV with the columns of data/books.csv.")],
    database: Database = None,
) -> None:
    """Bring in books; one with a known id replaces that book. All lines are taken, or none."""
    with shop_at(database) as shop:
        count = store.import_books(shop.engine, file, by=BY)
    out().print(f"{count} {'book' if count == 1 else 'books'} brought in.")


def _show(database: str | None, as_json: bool, change: Callable[[Bookshop], store.CartView]) -> None:
    with shop_at(database) as shop:
        now = change(shop)
    if as_json:
        print_json(cart_json(now))
    else:
        draw_cart(out(), now)
