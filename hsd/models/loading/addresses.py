"""Asking servers that strangers have named: only to addresses that the whole internet has, never to a local one."""

from __future__ import annotations

import socket
import ssl
from http.client import HTTPConnection, HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.request import HTTPHandler, HTTPSHandler, ProxyHandler

from hsd.errors import HsdError

# services of clouds, and what stands between kinds of networks
MORE = ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48")
LOCAL, TRANSLATED = [ip_network(text) for text in MORE], ip_network("64:ff9b::/96")  # IPv4 in the last four bytes


def public(text: str) -> bool:
    """Return whether an address, also an IPv4 one inside of IPv6, belongs to the whole internet."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        last = IPv4Address(int(address) & 0xFFFFFFFF) if address in TRANSLATED or int(address) < 1 << 32 else None
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1] or last
        if inner or address.is_site_local:
            return bool(inner) and public(str(inner))
    special = address.is_multicast or address.is_reserved or any(address in network for network in LOCAL)
    return address.is_global and not special


def dial(host: str, port: int, timeout: float | None) -> socket.socket:
    """Connect to an address of `host`, resolved once. Raises HsdError if any address is not public, or OSError."""
    found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    found.sort(key=lambda address: ":" in address)  # few machines reach IPv6
    if not all(map(public, found)):
        raise HsdError(f"server {host[:80]!r} has no public address: only an app on your own machine may ask it")
    return socket.create_connection((found[0], port), timeout)


class _Connection(HTTPConnection):
    def connect(self) -> None:
        self.sock = dial(self.host, self.port, self.timeout)


class _Encrypted(HTTPSConnection):
    def connect(self) -> None:
        context, plain = ssl.create_default_context(), dial(self.host, self.port, self.timeout)
        self.sock = context.wrap_socket(plain, server_hostname=self.host)


class _Public(HTTPHandler, HTTPSHandler):
    def http_open(self, asked: Any) -> Any:
        return self.do_open(_Connection, asked)

    def https_open(self, asked: Any) -> Any:
        return self.do_open(_Encrypted, asked)


PUBLIC = (_Public(), ProxyHandler({}))  # for an opener of urllib: by no proxy, which would resolve the name itself
