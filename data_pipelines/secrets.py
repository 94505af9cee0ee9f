"""Addresses and texts as they may be shown: passwords and tokens never reach a log, a record or a screen."""

import os
import re
from urllib.parse import quote, unquote, urlsplit, urlunsplit

USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#'\"]*@")
"""`user:password@`, or a token and `@`, between the scheme and the host of an address."""

SECRET_VARIABLES = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME")
ADDRESS_VARIABLES = ("MLFLOW_TRACKING_URI", "FEDBANDIT_MIRROR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
HIDDEN = "***"
SHORTEST = 4
"""A shorter secret is left alone: hiding every `a` would make a text unreadable and the secret plain."""


def without_user(address: str) -> str:
    """Return an address without user and password."""
    return USER_INFO.sub(r"\1", address)


def shown_address(address: str) -> str:
    """Return an address that may be shown and kept: no user, no password, no query, where tokens are too."""
    parts = urlsplit(without_user(address))
    return urlunsplit(parts._replace(query="", fragment=""))


def without_secrets(text: str) -> str:
    """Return a text without the users and passwords of addresses in it, and without those of the environment."""
    text = without_user(text)
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _secrets() -> set[str]:
    found = {os.environ.get(name, "") for name in SECRET_VARIABLES}
    for name in (*ADDRESS_VARIABLES, *(each.lower() for each in ADDRESS_VARIABLES)):
        found |= _password_of(os.environ.get(name, ""))
    return {each for each in found if len(each) >= SHORTEST}


def _password_of(address: str) -> set[str]:
    """Return the password of an address, as it is written there and as it is meant."""
    try:
        password = urlsplit(address).password
    except ValueError:
        return set()
    return {password, unquote(password), quote(unquote(password), safe="")} if password else set()
