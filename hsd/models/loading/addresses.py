"""Connections to servers that strangers name: only to public addresses, never to local ones."""

import socket
from http.client import HTTPConnection, HTTPSConnection
from ipaddress import IPv4Address, IPv4Network
from typing import Any
from urllib.request import HTTPHandler, HTTPSHandler, ProxyHandler

from hsd.errors import HsdError

# services of clouds, and what stands between kinds of networks
LOCAL = [IPv4Network(text) for text in ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24")]


def public(text: str) -> bool:
    """Return whether an IPv4 address belongs to the whole internet."""
    address = IPv4Address(text)
    special = (
        address.is_multicast or address.is_reserved or any(address in network for network in LOCAL)
    )
    return address.is_global and not special


def dial(host: str, port: int, timeout: float | None) -> socket.socket:
    """Connect to an IPv4 address of `host`, resolved once.

    IPv6 is not used, as it has too many ways to write a local address.

    timeout: in seconds. Raises HsdError if any address is not public, or OSError where there is
    none or no answer.
    """
    hosts = [
        str(one[4][0]) for one in socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    ]
    if not all(map(public, hosts)):
        raise HsdError(
            f"server {host[:80]!r} has no public address: only an app on your own machine may ask "
            "it"
        )
    return socket.create_connection((hosts[0], port), timeout)


class _Connection(HTTPConnection):
    def connect(self) -> None:
        self.sock = dial(self.host, self.port, self.timeout)


class _Encrypted(HTTPSConnection, _Connection):
    """An encrypted connection, by Python's own handshake over what `_Connection` has dialled."""


class _Public(HTTPHandler, HTTPSHandler):
    def http_open(self, request: Any) -> Any:
        return self.do_open(_Connection, request)

    def https_open(self, request: Any) -> Any:
        return self.do_open(_Encrypted, request)


# for an opener of urllib: by no proxy, which would resolve the name itself
PUBLIC = (_Public(), ProxyHandler({}))
