"""The image, compose file and manifests agree with the code, the pins, the scripts and the published schemas."""

import argparse
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from enlist.evals.cli.commands import COMMANDS
from enlist.evals.cli.main import app, load_command
from enlist.orchestrator import node

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kuberay").glob("*.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
GUIDE = (ROOT / "docs" / "cluster.md").read_text()
CRDS = "ENLIST_KUBERAY_CRDS"


def documents() -> list[dict[str, Any]]:
    return [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text())]


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping at any depth."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(item)


def pods() -> list[dict[str, Any]]:
    return [found for found in walk(documents()) if "containers" in found]


def test_every_manifest_is_an_object_with_a_name_and_no_two_are_the_same() -> None:
    names = [(d["apiVersion"], d["kind"], d["metadata"]["name"]) for d in documents()]
    assert len(names) == len(set(names)) >= 8
    assert {"RayCluster", "RayJob", "NetworkPolicy", "CronJob", "PodMonitor"} <= {kind for _, kind, _ in names}


def test_versions_are_those_that_are_pinned() -> None:
    image = f"enlist:{PROJECT['version']}"
    assert {c["image"] for pod in pods() for c in pod["containers"]} == {image}
    assert {s["image"] for s in COMPOSE["services"].values() if "build" in s} == {image}
    assert {d["rayVersion"] for d in walk(documents()) if "rayVersion" in d} == {PINS["ray"]}
    dockerfile = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert image in dockerfile and re.search(r"^ARG PYTHON=3\.11\.\d+-slim", dockerfile, re.MULTILINE)
    assert all(re.search(r":.*\d+\.\d+|:RELEASE\.", s["image"]) for s in COMPOSE["services"].values())
    more = dict(line.split("==") for line in (DEPLOY / "docker" / "constraints-serve.txt").read_text().splitlines()
                if not line.startswith("#"))
    assert not {n.lower().replace("_", "-") for n in more} & {n.lower().replace("_", "-") for n in PINS}


def test_the_image_copies_what_is_there_installs_known_extras_and_is_not_root() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    sources = [word for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE)
               for word in line.split()[:-1] if not word.startswith("--")]
    assert len(sources) > 10 and all((ROOT / source).exists() for source in sources)
    rooms = {p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()}
    assert rooms and rooms <= set(sources)
    kept = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert {f"!{source.split('/')[0]}" for source in sources} <= set(kept)
    extras = re.search(r"'\.\[(.+)\]'", text)
    assert extras and set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])
    assert re.findall(r"^USER (.+)$", text, re.MULTILINE)[-1].startswith("1000")


def test_ports_are_those_of_the_start_script() -> None:
    head = node._parser().parse_args(["head"])
    cluster = next(d for d in documents() if d["kind"] == "RayCluster")["spec"]
    ports = {p["name"]: p["containerPort"] for p in
             cluster["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"]}
    assert ports["gcs-server"] == head.port
    scraped = {int(a["prometheus.io/port"]) for a in walk(documents()) if "prometheus.io/port" in a}
    offered = {p["containerPort"] for p in walk(documents()) if p.get("name") == "metrics" and "containerPort" in p}
    allowed = {p["port"] for d in documents() if d["kind"] == "NetworkPolicy" for p in walk(d["spec"]["ingress"])
               if "port" in p}
    assert scraped == offered == allowed - {ports["dashboard"]}


def node_commands() -> list[list[str]]:
    words = [s["command"][1:] for s in COMPOSE["services"].values() if "start-node" in str(s.get("command"))]
    shown = re.findall(r"^deploy/start-node\.sh ([^#\n]+)", GUIDE, re.MULTILINE)
    return [*words, *(shlex.split(one) for one in shown)]


@pytest.mark.parametrize("words", node_commands(), ids=" ".join)
def test_the_start_script_takes_its_arguments(words: list[str]) -> None:
    given: argparse.Namespace = node._parser().parse_args(words)
    assert (given.port if given.role == "head" else int(given.address.rpartition(":")[2])) == 6379


def enlist_commands() -> list[list[str]]:
    """Every `enlist ...` in manifests, compose file and guide."""
    lists = [[*container.get("command", []), *container.get("args", [])] for pod in pods()
             for container in pod["containers"]]
    lists += [s["command"] for s in COMPOSE["services"].values() if isinstance(s.get("command"), list)]
    lists += [shlex.split(d["entrypoint"]) for d in walk(documents()) if isinstance(d.get("entrypoint"), str)]
    text = GUIDE + (DEPLOY / "compose.yaml").read_text()
    lists += [shlex.split(line) for line in re.findall(r"^(?:\$ |# +)?(enlist [a-z][^#`\n]+)$", text, re.MULTILINE)]
    lists += [shlex.split(" ".join(span.split())) for span in re.findall(r"`(enlist [a-z][^`]+)`", GUIDE)]
    return [words[words.index("enlist") + 1:] for words in lists if "enlist" in words]


@pytest.mark.parametrize("words", enlist_commands(), ids=" ".join)
def test_every_command_that_is_named_exists_with_its_options(words: list[str]) -> None:
    assert words[0] in COMMANDS
    program = load_command(app)
    _, command, rest = program.resolve_command(None, words)  # type: ignore[attr-defined]
    while hasattr(command, "commands") and rest:
        command, rest = command.commands[rest[0]], rest[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known


def test_every_secret_and_setting_that_is_referred_to_is_made() -> None:
    made = {name: set(re.findall(r"--from-literal=(\w+)=", rest)) for name, rest in
            re.findall(r"kubectl create secret generic ([\w-]+)(.*)", GUIDE)}
    for place in walk(documents()):
        if "secretKeyRef" in place:
            assert place["secretKeyRef"]["key"] in made[place["secretKeyRef"]["name"]]
        if "secretRef" in place:
            assert made[place["secretRef"]["name"]]
        if "authOptions" in place:
            assert "auth_token" in made[place["authOptions"]["secretName"]]  # the key that KubeRay reads
    names = {(d["kind"], d["metadata"]["name"]) for d in documents()}
    for place in walk(documents()):
        if "configMapRef" in place:
            assert ("ConfigMap", place["configMapRef"]["name"]) in names
        if "persistentVolumeClaim" in place:
            assert ("PersistentVolumeClaim", place["persistentVolumeClaim"]["claimName"]) in names
        if "configMap" in place and isinstance(place["configMap"], dict):
            assert f"create configmap {place['configMap']['name']} " in GUIDE
    assert not any(d["kind"] == "Secret" for d in documents())  # none with a value that everybody knows


def test_compose_defines_the_secrets_volumes_and_services_that_it_uses() -> None:
    for service in COMPOSE["services"].values():
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])
        for volume in service.get("volumes", ()):
            assert volume.startswith("./") or volume.split(":")[0] in COMPOSE["volumes"]
        read = [v for k, v in (service.get("environment") or {}).items() if k.endswith(("_FILE", "_PATH"))]
        assert {path.removeprefix("/run/secrets/") for path in read} <= set(service.get("secrets", ()))


def test_no_pod_is_root_or_may_become_it() -> None:
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False and context["capabilities"]["drop"] == ["ALL"]


def test_the_entry_point_reads_secrets_from_files_and_becomes_the_command(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p w$`d\n")
    shown = 'echo "$PGPASSWORD|${PGPASSWORD_FILE:-}"'
    said = subprocess.run([DEPLOY / "docker" / "entrypoint.sh", "bash", "-c", shown],
                          env={"PATH": os.environ["PATH"], "PGPASSWORD_FILE": str(tmp_path / "password")},
                          capture_output=True, text=True, check=True)
    assert said.stdout == "p w$`d|\n"
    missing = subprocess.run([DEPLOY / "docker" / "entrypoint.sh", "true"], capture_output=True,
                             env={"PATH": os.environ["PATH"], "PGPASSWORD_FILE": str(tmp_path / "absent")})
    assert missing.returncode != 0


def strict(schema: Any) -> Any:
    """A CRD's schema that refuses unknown fields, as `kubectl --validate=strict` does."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_the_manifests_fit_the_published_schemas(kind: str) -> None:
    from jsonschema import Draft202012Validator

    if CRDS not in os.environ:
        pytest.skip(f"{CRDS} names no folder with KubeRay's CRDs (helm-chart/kuberay-operator/crds of its repository)")
    definition = yaml.load((Path(os.environ[CRDS]) / f"ray.io_{kind.lower()}s.yaml").read_text(),
                           Loader=yaml.CSafeLoader)
    version = next(v for v in definition["spec"]["versions"] if v["name"] == "v1")
    schema = version["schema"]["openAPIV3Schema"]
    validator = Draft202012Validator(strict({**schema, "additionalProperties": False}))
    mine = [document for document in documents() if document["kind"] == kind]
    assert mine
    for document in mine:
        assert document["apiVersion"] == "ray.io/v1"
        assert [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)] == []
        for place in [document["spec"], *(found for found in walk(document) if "image" in found)]:
            place["noSuchField"] = 1  # at the top and deep inside
            assert not validator.is_valid(document)
            del place["noSuchField"]
