"""The address on which the MLflow UI listens, and the host names that it accepts: a list of names, not patterns.

MLflow's own list contains patterns such as `10.*`, which also match `10.attacker.example`: an attacker's page could
then read the runs through the browser of a user of this machine (DNS rebinding).
"""

import ipaddress
import re
import socket

LOOPBACK = "127.0.0.1"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
WARNING = """\
warning: --host {host}: anyone who can reach this machine can read, change and delete all runs without a password.
  To require passwords, use MLflow's own server: pip install 'mlflow[auth]'; set MLFLOW_FLASK_SERVER_SECRET_KEY
  and MLFLOW_AUTH_ADMIN_PASSWORD; mlflow server --app-name basic-auth --backend-store-uri … --allowed-hosts NAME:PORT;
  then set MLFLOW_TRACKING_URI, MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD here. See docs/reliability.md."""


def check_host(host: str) -> None:
    """Raise a ValueError unless `host` is an address of this machine."""
    try:
        if not (NAME.fullmatch(host) or _address(host)):
            raise ValueError
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except (OSError, ValueError):
        raise ValueError(f"--host must be an address of this machine, such as 127.0.0.1, got {host!r}") from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def allowed_hosts(host: str, port: int) -> str:
    """Return the value of `--allowed-hosts`: all names of this machine that lead to this host, and no others."""
    names = {"localhost", LOOPBACK, _bracketed(host)}
    if not is_loopback(host):
        names |= {socket.gethostname(), socket.getfqdn()}
    address = _address(host)
    if address is not None and address.is_unspecified:
        names = (names | {_bracketed(own) for own in _own_addresses()}) - {_bracketed(host)}
    return ",".join(f"{name}:{port}" for name in sorted(names))


def address_to_open(host: str, port: int) -> str:
    """Return the URL of the UI on this machine."""
    address = _address(host)
    if address is not None and address.is_unspecified:
        host = LOOPBACK if address.version == 4 else "::1"
    return f"http://{_bracketed(host)}:{port}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _own_addresses() -> list[str]:
    import psutil

    families = (socket.AF_INET, socket.AF_INET6)
    return [
        entry.address.partition("%")[0]
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family in families
    ]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
