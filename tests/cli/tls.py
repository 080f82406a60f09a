"""TLS on the server's port, as operators and users of `muster` see it."""
import signal
import subprocess
import time
import urllib.error
import urllib.request

from shared import GAME, SERVER, UNREACHABLE, USAGE, equal, holds


def encrypted(folder, *arguments):
    """A server with TLS, and what its address file says."""
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", *arguments, stderr=subprocess.PIPE)
    return server, folder.served_by("game.muster", server)


def make_certificate(folder, name):
    """The files NAME.pem and NAME-key.pem, of a certificate for localhost."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{name}-key.pem",
                    "-out", f"{name}.pem"], cwd=folder.path, check=True, capture_output=True, timeout=60)


def s_client(folder, address, *arguments):
    ran = subprocess.run(["openssl", "s_client", "-connect", address, *arguments], cwd=folder.path, input="", text=True,
                         capture_output=True, timeout=60, check=False)
    return ran.stdout + ran.stderr


def commands_reach_a_self_signed_server_beside_its_world_and_elsewhere_by_fingerprint(folder):
    server, served = encrypted(folder, "--self-signed")
    folder.run("spawn", "/town", "--world", "game.muster")
    equal([each["name"] for each in folder.json("ls")], ["town"])
    there = ("--connect", f"tls:{served['address']}", "--token", served["token"])
    holds(folder.run("ls", *there, "--fingerprint", served["tls"]), "town")
    holds(folder.run("ls", *there, "--ca", "game.muster-tls.pem"), "town")
    holds(folder.error(UNREACHABLE, "ls", *there), "issuer of the server's certificate is not trusted", served["tls"])
    holds(folder.error(UNREACHABLE, "ls", *there, "--fingerprint", "0" * 64), f"has the fingerprint {served['tls']}, not 000")
    holds(folder.error(UNREACHABLE, "ls", *there, "--ca", "nothing.pem"), "nothing.pem: No such file")
    holds(folder.error(UNREACHABLE, "ls", *there, "--fingerprint", "12"), "'12' is not a fingerprint")
    holds(folder.error(UNREACHABLE, "ls", "--connect", served["address"], "--token", served["token"]), "this port needs TLS")
    folder.stop(server)
    said = server.stderr.read()
    holds(said, f"fingerprint {served['tls']}", "refused 127.0.0.1: the connection was closed during the TLS handshake")


def a_port_speaks_tls_1_3_only_without_compression_renegotiation_and_tickets(folder):
    _, served = encrypted(folder, "--self-signed")
    said = s_client(folder, served["address"], "-CAfile", "game.muster-tls.pem", "-verify_hostname", "localhost")
    holds(said, "New, TLSv1.3", "Verify return code: 0 (ok)", "Compression: NONE", "Expansion: NONE",
          "Secure Renegotiation IS NOT supported")
    assert "New Session Ticket" not in said, said
    for version in ("-tls1", "-tls1_1", "-tls1_2"):
        said = s_client(folder, served["address"], version, "-cipher", "ALL:@SECLEVEL=0")
        assert "New, (NONE)" in said, said
    holds(s_client(folder, served["address"], "-alpn", "h2"), "No ALPN negotiated")


def a_certificate_is_renewed_while_a_watch_goes_on(folder):
    make_certificate(folder, "old")
    make_certificate(folder, "new")
    server, served = encrypted(folder, "--cert", "old.pem", "--key", "old-key.pem")
    watch = folder.start(folder.commands[0], "watch", "--events", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(watch.stderr.readline(), "watching; end with Ctrl-C\n")
    until = time.monotonic() + 20
    for part in ("", "-key"):
        (folder.path / f"new{part}.pem").rename(folder.path / f"old{part}.pem")
    server.send_signal(signal.SIGHUP)
    there = ("--connect", f"tls:localhost:{served['address'].split(':')[1]}", "--token", served["token"], "--ca", "old.pem")
    while subprocess.run([folder.commands[0], "info", *there], cwd=folder.path, capture_output=True, check=False,
                         timeout=60).returncode != 0:
        assert time.monotonic() < until, "the certificate is not renewed"
    folder.run("spawn", "/town")
    holds(watch.stdout.readline(), "muster.Create")
    watch.kill()
    folder.stop(server)
    holds(server.stderr.read(), "new certificate, valid until 20")


def without_tls_a_server_stays_on_its_machine_and_says_how_to_leave_it(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for arguments, said in [(("--listen", "0.0.0.0:0"), "Encrypt connections with --cert and --key, or with --self-signed"),
                            (("--cert", "a.pem"), "a certificate (--cert) and its key (--key) are needed together"),
                            (("--cert", "a.pem", "--key", "b.pem"), "a.pem: the certificate cannot be read: No such file"),
                            (("--self-signed", "--cert", "a.pem", "--key", "b.pem"), "exclude each other"),
                            (("--behind-proxy", "10.0.0.1,proxy"), "'proxy' is not an IP address")]:
        server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", *arguments, stderr=subprocess.PIPE)
        if arguments[0] == "--listen":
            equal(server.wait(timeout=20), USAGE)
            server = folder.start(SERVER, "game.muster", *arguments, stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 6)
        holds(server.stderr.read(), said)


def only_a_stated_proxy_may_say_for_whom_it_asks(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    fields = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "studio.example"}

    def status(address, host, origin=None):
        more = {"Origin": origin} if origin else {}
        request = urllib.request.Request(f"http://{address}/metrics", headers=fields | {"Host": host} | more)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    server = folder.serve("game.muster", "--behind-proxy", "127.0.0.1")
    address = folder.served_by("game.muster", server)["address"]
    equal(status(address, "anything"), 401)  # not this machine's: it needs a token
    equal(status(address, "anything", "https://studio.example"), 401)
    equal(status(address, "anything", "http://studio.example"), 403)
    folder.stop(server)
    server = folder.serve("game.muster", "--behind-proxy", "127.0.0.2")
    address = folder.served_by("game.muster", server)["address"]
    equal(status(address, address), 200)
    equal(status(address, "studio.example"), 421)
    equal(status(address, address, "https://studio.example"), 403)
