# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""An empty machine: a directory made by debootstrap, from the package mirror of this machine."""
import os
import pathlib
import shutil
import subprocess
import sys


def skip(reason):
    print("skipped: " + reason)
    sys.exit(4)


def skip_unless_possible():
    if os.geteuid() != 0:
        skip("building an empty machine needs root")
    if shutil.which("debootstrap") is None:
        skip("debootstrap is not installed (scripts/setup --test installs it)")


def mirror_and_release():
    """The first Debian mirror that apt uses here, and the release."""
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    if release.get("ID", "").strip('"') != "debian":
        skip("this machine is no Debian, so it names no mirror to take an empty one from")
    out = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)"], capture_output=True, text=True, check=True).stdout
    codename = release["VERSION_CODENAME"].strip('"')
    for line in out.splitlines():
        site, _, name = line.partition(" ")
        if name == codename and not site.rstrip("/").endswith("security"):
            return site, codename
    skip("apt knows no mirror of " + codename)


class Machine:
    def __init__(self, root):
        self.root = root
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive"}
        for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def make(self, mirror, codename, packages):
        """`packages` are installed from the beginning, separated by commas."""
        subprocess.run(
            ["debootstrap", "--variant=minbase", "--include=" + packages, codename, str(self.root), mirror],
            check=True, stdout=subprocess.DEVNULL)
        # how this machine reaches its mirrors
        for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):
            if os.path.exists(path):
                shutil.copy(path, str(self.root) + path)
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            if os.path.isfile(self.environment.get(name, "")):
                target = pathlib.Path(str(self.root) + self.environment[name])
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.environment[name], target)
        subprocess.run(["mount", "-t", "proc", "proc", str(self.root / "proc")], check=True)
        subprocess.run(["mount", "--rbind", "--make-rslave", "/dev", str(self.root / "dev")], check=True)

    def unmake(self):
        for place in ("dev", "proc"):
            subprocess.run(["umount", "-R", "-l", str(self.root / place)], stderr=subprocess.DEVNULL)
            # what is mounted there belongs to this machine
            if os.path.ismount(self.root / place):
                raise RuntimeError(f"{self.root / place} is still mounted")
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, command, alone=False):
        """`alone`: in a network of its own, with a Redis server on its usual port."""
        if alone:
            command = ("ip link set lo up && (redis-server --save '' > /dev/null &) && "
                       "until redis-cli ping > /dev/null 2>&1; do sleep 0.1; done && " + command)
        inside = ["chroot", str(self.root), "bash", "-eu", "-o", "pipefail", "-c", command]
        if alone:
            # the server ends with its namespace
            inside = ["unshare", "--net", "--pid", "--fork", "--kill-child"] + inside
        return subprocess.run(inside, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
