"""Reasons in the logs of the lab's programs, from lines that they have written."""

import pytest

from dev.lab.log_reason import reason

# etcd on a full disk, with the lines that follow.
ETCD = [
    '{"level":"warn","ts":"2026-11-22T21:25:46.8Z","caller":"embed/config.go:1","msg":"Running http and grpc"}',
    '{"level":"fatal","caller":"backend/backend.go:1","msg":"cannot save","error":"no space"}',
    "goroutine 1 [running]:",
]
APISERVER = [
    'W1122 21:25:46.6 16274 reflector.go:5] "Failed to watch" err="connection refused"',
    'E1122 21:25:46.639478   16274 writers.go:136] "Unhandled Error" err="http: Handler timeout"',
    'I1122 21:25:50.575489   16427 shared_informer.go:409] "Caches are synced"',
]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([], None),
        (["all is well", "{", "[]"], None),
        (APISERVER[:1], None),
        (ETCD, "cannot save: no space"),
        (APISERVER, '"Unhandled Error" err="http: Handler timeout"'),
        ([*ETCD, *APISERVER], "cannot save: no space"),
        (["panic: no space left on device", "", "goroutine 1 [running]:"], "no space left on device"),
        (["F1122 21:25:46.6   16274 main.go:1] cannot bind", *APISERVER], "cannot bind"),
        (["2026/11/22 21:00:00 cmd/web.go:1:serve() [F] disk I/O error"], "disk I/O error"),
        (["Error: unknown flag: --x"], "Error: unknown flag: --x"),
        (
            ['time=2026-11-22T21:25:22.3Z level=ERROR msg="the node ends" error=refused'],
            'msg="the node ends" error=refused',
        ),
        (["2026/11/22 21:25:22 ERROR the proxy ends error=refused"], "the proxy ends error=refused"),
    ],
)
def test_the_last_of_the_most_severe_lines_is_the_reason(lines, found):
    assert reason(lines) == found
