"""An object store on loopback that speaks as much of S3 as source-controller's client asks of it, over TLS.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
"""

from __future__ import annotations

import hashlib
import ssl
import tempfile
from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import trustme

from tests.support.http_double import Answer, Asked, serving

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_MODIFIED = "2026-01-01T00:00:00.000Z"


class ObjectStore:
    """A store with one bucket, for those who name one of its access keys.

    It reads who signs a request and does not verify the signature.

    Attributes:
        bucket: name of the bucket.
        objects: content by name of the object.
        access_keys: ids of the access keys that may read.
        used: ids of the access keys of all requests that were answered, in their order.
        authority: certificate of the authority that issued the server's, PEM.
        endpoint: host and port.
    """

    def __init__(self, bucket: str, objects: dict[str, str], *access_keys: str) -> None:
        self.bucket, self.objects, self.access_keys = bucket, objects, set(access_keys)
        self.used: list[str] = []
        authority = trustme.CA()
        self.authority = authority.cert_pem.bytes().decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            chain = Path(folder) / "server.pem"
            chain.write_bytes(authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.bytes())
            context.load_cert_chain(chain)
        self.endpoint = f"127.0.0.1:{serving(self._answer, context).server_port}"

    def _answer(self, asked: Asked) -> Answer:
        status, text, tag = self._found(asked.path, asked.headers.get("Authorization", ""))
        headers = {"Last-Modified": formatdate(usegmt=True)} | ({"ETag": tag} if tag else {})
        return Answer(status, text.encode(), headers)

    def _found(self, target: str, authorization: str) -> tuple[int, str, str]:
        """Status, content and entity tag of the answer to a request for a path with its query."""
        url = urlsplit(target)
        bucket, _, name = unquote(url.path).strip("/").partition("/")
        key = authorization.partition("Credential=")[2].partition("/")[0]
        if key not in self.access_keys:
            return 403, _error("InvalidAccessKeyId"), ""
        self.used.append(key)
        if bucket != self.bucket or (name and name not in self.objects):
            return 404, _error("NoSuchKey" if name else "NoSuchBucket"), ""
        if name:
            return 200, self.objects[name], _tag(self.objects[name])
        query = parse_qs(url.query, keep_blank_values=True)
        if "location" in query:
            return 200, f'<LocationConstraint xmlns="{_NAMESPACE}">us-east-1</LocationConstraint>', ""
        return 200, self._listing(query.get("prefix", [""])[0]), ""

    def _listing(self, prefix: str) -> str:
        found = {name: text for name, text in sorted(self.objects.items()) if name.startswith(prefix)}
        entries = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>{_MODIFIED}</LastModified><ETag>{_tag(text)}</ETag>"
            f"<Size>{len(text.encode())}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for name, text in found.items()
        )
        return (
            f'<ListBucketResult xmlns="{_NAMESPACE}"><Name>{self.bucket}</Name><Prefix>{escape(prefix)}</Prefix>'
            f"<KeyCount>{len(found)}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{entries}"
            "</ListBucketResult>"
        )


def _tag(text: str) -> str:
    return f'"{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"'


def _error(code: str) -> str:
    return f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
