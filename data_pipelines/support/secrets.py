"""Remove secrets from addresses and texts: passwords and tokens never reach a log, a record or a screen."""

import os
import re
from urllib.parse import quote, unquote, urlsplit, urlunsplit

USER_INFO = re.compile(r"://[^\s/?#'\"]*@")
"""`user:password@`, or a token and `@`, between the scheme and the host of an address.

The scheme is not matched: backtracking over a very long scheme would take quadratic time.
"""

SECRET_VARIABLES = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME")
ADDRESS_VARIABLES = ("MLFLOW_TRACKING_URI", "FEDBANDIT_MIRROR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
HIDDEN = "***"
MIN_LENGTH = 4
"""A shorter secret is not hidden: replacing every `a` would make a text unreadable and reveal the secret."""


def without_user(address: str) -> str:
    """Return an address without user and password."""
    return USER_INFO.sub("://", address)


def shown_address(address: str) -> str:
    """Return an address that is safe to show and store: without user, password and query, which may contain a token."""
    parts = urlsplit(without_user(address))
    return urlunsplit(parts._replace(query="", fragment=""))


def without_secrets(text: str) -> str:
    """Remove user names and passwords that occur in URLs in the text or in environment variables."""
    text = without_user(text)
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _secrets() -> set[str]:
    secrets = {os.environ.get(name, "") for name in SECRET_VARIABLES}
    for name in (*ADDRESS_VARIABLES, *(variable.lower() for variable in ADDRESS_VARIABLES)):
        secrets |= _password_of(os.environ.get(name, ""))
    return {secret for secret in secrets if len(secret) >= MIN_LENGTH}


def _password_of(address: str) -> set[str]:
    """Return the password of an address, both as written and decoded."""
    try:
        password = urlsplit(address).password
    except ValueError:
        return set()
    return {password, unquote(password), quote(unquote(password), safe="")} if password else set()
