"""Packages that only some commands need, and the extra of fedbandit-bench that installs each of them."""

from importlib.metadata import PackageNotFoundError, version


def installed_version(package: str) -> str:
    """Return the version of a package, or `not installed`."""
    try:
        return version(package)
    except PackageNotFoundError:  # such as a copy of the source on PYTHONPATH
        return "not installed"


def require(package: str, *, extra: str, purpose: str) -> None:
    """Raise a one-line error if an optional package is not installed."""
    try:
        version(package)
    except PackageNotFoundError:
        raise OSError(
            f"{purpose} needs the package {package}, which is not installed; "
            f"install the extra [{extra}]: pip install 'fedbandit-bench[{extra}]'"
        ) from None
