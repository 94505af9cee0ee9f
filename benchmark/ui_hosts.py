"""Where MLflow's pages listen, and the names by which they may be asked for: its own, written out, no patterns.

MLflow's own list holds patterns such as `10.*`, which fit `10.attacker.example` too: a page of an attacker could then
read the runs through the browser of somebody inside (DNS rebinding).
"""

import ipaddress
import re
import socket

LOOPBACK = "127.0.0.1"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
WARNING = """\
warning: --host {host}: whoever reaches this machine can read, change and delete all runs, without a password.
  With passwords, MLflow's own: pip install 'mlflow[auth]'; set MLFLOW_FLASK_SERVER_SECRET_KEY and
  MLFLOW_AUTH_ADMIN_PASSWORD; mlflow server --app-name basic-auth --backend-store-uri … --allowed-hosts NAME:PORT;
  then MLFLOW_TRACKING_URI, MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD here. See docs/reliability.md."""


def check_host(host: str) -> None:
    """Refuse what is no address of this machine."""
    try:
        if not (NAME.fullmatch(host) or _address(host)):
            raise ValueError
        family, kind, _, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(place)
    except (OSError, ValueError):
        raise ValueError(f"--host is {host!r}; allowed are addresses of this machine, such as 127.0.0.1") from None


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a host."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def allowed_hosts(host: str, port: int) -> str:
    """Return the value of `--allowed-hosts`: every name of this machine that leads to this host, and no other."""
    names = {"localhost", LOOPBACK, _bracketed(host)}
    if not is_loopback(host):
        names |= {socket.gethostname(), socket.getfqdn()}
    address = _address(host)
    if address is not None and address.is_unspecified:
        names = (names | {_bracketed(each) for each in _own_addresses()}) - {_bracketed(host)}
    return ",".join(f"{name}:{port}" for name in sorted(names))


def address_to_open(host: str, port: int) -> str:
    """Return the address at which this machine itself finds the pages."""
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
    found = [each for addresses in psutil.net_if_addrs().values() for each in addresses if each.family in families]
    return [each.address.partition("%")[0] for each in found]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
