"""The manifests for Kubernetes: valid by its own schemas, and fit for the image and the service."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from test_deploy import check_words, lines, slowest_end

HOME = Path(__file__).parents[2] / "deploy" / "kubernetes"
FILES = {path.name: yaml.safe_load(path.read_text()) for path in HOME.rglob("*.yaml")}
KUSTOMIZATION = FILES.pop("kustomization.yaml")
MONITOR = FILES.pop("servicemonitor.yaml")  # of the operator's kind, which the schemas lack
POD: dict[str, Any] = FILES["deployment.yaml"]["spec"]["template"]
OURS: dict[str, Any] = POD["spec"]["containers"][0]


@pytest.mark.parametrize("version", ["1.28", "1.31", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("name", FILES)
def test_manifests_keep_to_the_schemas(name: str, version: str) -> None:
    kubernetes_validate.validate(FILES[name], version, strict=True)


def test_the_schemas_find_mistakes() -> None:
    wrong = yaml.safe_load((HOME / "deployment.yaml").read_text())
    wrong["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenesProbe"):
        kubernetes_validate.validate(wrong, "1.31", strict=True)


def test_kustomization_takes_all_but_monitoring() -> None:
    assert sorted(KUSTOMIZATION["resources"]) == sorted(FILES)
    assert [image["name"] for image in KUSTOMIZATION["images"]] == [OURS["image"]]
    assert not any(manifest["kind"] == "Secret" for manifest in FILES.values())


def test_names_and_labels_fit_together() -> None:
    labels = POD["metadata"]["labels"]
    spec = FILES["deployment.yaml"]["spec"]
    assert spec["selector"]["matchLabels"] == labels
    service = FILES["service.yaml"]
    assert service["spec"]["selector"] == labels
    (port,), (exposed,) = service["spec"]["ports"], OURS["ports"]
    assert port["targetPort"] == exposed["name"]
    budget = FILES["disruption.yaml"]["spec"]
    assert budget["selector"]["matchLabels"] == labels
    assert 0 < budget["minAvailable"] < spec["replicas"]
    (endpoint,) = MONITOR["spec"]["endpoints"]
    assert MONITOR["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]
    assert endpoint["port"] == port["name"] and endpoint["path"] == "/metrics"


def test_the_command_is_ours() -> None:
    words = OURS["args"]
    check_words(words)
    assert words[words.index("--port") + 1] == str(OURS["ports"][0]["containerPort"])
    keys = Path(words[words.index("--keys") + 1])
    mounts = {mount["mountPath"]: mount["name"] for mount in OURS["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in POD["spec"]["volumes"]}
    assert set(mounts.values()) == set(volumes)
    secret = volumes[mounts[str(keys.parent)]]["secret"]
    assert [item["path"] for item in secret["items"]] == [keys.name]
    (variable,) = OURS["env"]
    assert variable["name"] == "SOJOURN_STORE"
    assert variable["valueFrom"]["secretKeyRef"]["name"] == secret["secretName"]


def test_probes_and_time_to_end() -> None:
    ports = {port["name"] for port in OURS["ports"]}
    probes = {name: OURS[f"{name}Probe"] for name in ("startup", "liveness", "readiness")}
    assert all(probe["httpGet"]["port"] in ports for probe in probes.values())
    paths = {name: probe["httpGet"]["path"] for name, probe in probes.items()}
    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    pause = float(OURS["lifecycle"]["preStop"]["exec"]["command"][1])
    assert POD["spec"]["terminationGracePeriodSeconds"] > pause + slowest_end()


def test_the_pod_runs_without_rights() -> None:
    (made,) = [line for line in lines("RUN") if "useradd" in line]
    user = POD["spec"]["securityContext"]
    assert user["runAsNonRoot"] and user["seccompProfile"] == {"type": "RuntimeDefault"}
    assert f"--uid {user['runAsUser']} " in made and f"--gid {user['runAsGroup']} " in made
    assert user["fsGroup"] == user["runAsGroup"]  # that of the keys
    assert POD["spec"]["automountServiceAccountToken"] is False
    assert POD["spec"]["enableServiceLinks"] is False  # variables SOJOURN_... are options
    rights = OURS["securityContext"]
    assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
    assert rights["capabilities"] == {"drop": ["ALL"]}
    mounts = {mount["mountPath"] for mount in OURS["volumeMounts"]}
    assert "/tmp" in mounts  # the metrics of workers
    assert "/var/cache/sojourn" not in mounts  # the image's compiled policies stay in sight
    assert set(OURS["resources"]) == {"requests", "limits"}
