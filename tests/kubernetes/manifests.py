"""The manifests of deploy/kubernetes: held against the schemas of Kubernetes, and against what they must say besides.

    manifests.py check FILE…               validates; prints what is wrong, and ends with 1
    manifests.py pods FILE FOLDER          what each pod is, in JSON, with its ConfigMap written to FOLDER

Schemas are those of kubernetes-validate (PyPI), so no cluster and no network is needed. They do not have JobSet: of one,
the jobs in it are validated, and its own keys compared with those that version v1alpha2 has and we use.
"""

import json
import pathlib
import sys
import tomllib

import kubernetes_validate
import yaml

VERSIONS = ("1.28", "1.31", "1.37")
JOBSET = {
    "": {"network", "failurePolicy", "replicatedJobs"},
    "network": {"enableDNSHostnames", "subdomain", "publishNotReadyAddresses"},
    "failurePolicy": {"maxRestarts"},
}


def jobs(document):
    """(name of the job, its object, subdomain of its pods), of a Job or of each in a JobSet."""
    if document["kind"] == "Job":
        yield document["metadata"]["name"], document, document["spec"]["template"]["spec"].get("subdomain")
    elif document["kind"] == "JobSet":
        name = document["metadata"]["name"]
        for replicated in document["spec"]["replicatedJobs"]:
            for index in range(replicated["replicas"]):
                full = f"{name}-{replicated['name']}-{index}"
                job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": full}, **replicated["template"]}
                yield full, job, document["spec"]["network"]["subdomain"]


def faults(documents):
    """What the schemas do not see."""
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    configs = {d["metadata"]["name"]: d["data"] for d in documents if d["kind"] == "ConfigMap"}
    for name, data in configs.items():
        for file, text in data.items():
            tomllib.loads(text)
    for document in documents:
        if document["kind"] == "JobSet":
            if document["apiVersion"] != "jobset.x-k8s.io/v1alpha2":
                yield f"JobSet of {document['apiVersion']}"
            for part, known in JOBSET.items():
                said = document["spec"].get(part, {}) if part else document["spec"]
                if unknown := said.keys() - known:
                    yield f"JobSet has {unknown} in {part or 'spec'}"
            if any(set(job) != {"name", "replicas", "template"} for job in document["spec"]["replicatedJobs"]):
                yield "a replicated job has other keys than name, replicas and template"
        for name, job, subdomain in jobs(document):
            spec, pod = job["spec"], job["spec"]["template"]["spec"]
            env = {variable["name"]: variable for variable in pod["containers"][0]["env"]}
            if spec.get("completionMode") != "Indexed" or spec.get("completions") != spec.get("parallelism"):
                yield f"{name}: ranks that do not run all at once never meet"
            if env["WORLD_SIZE"]["value"] != str(spec.get("completions")):
                yield f"{name}: WORLD_SIZE is not completions"
            if spec.get("backoffLimit") != 0 or pod.get("restartPolicy") != "Never":
                yield f"{name}: a rank would be started again alone"
            if env["MASTER_NODE"]["value"] != f"{name}-0.{subdomain}":
                yield f"{name}: pod 0 is not {env['MASTER_NODE']['value']}"
            if document["kind"] == "Job":
                service = services.get(subdomain, {})
                if service.get("clusterIP") != "None" or not service.get("publishNotReadyAddresses"):
                    yield f"{name}: {subdomain} is no headless service for pods that are not ready"
                if service.get("selector") != {"batch.kubernetes.io/job-name": name}:
                    yield f"{name}: {subdomain} does not select its pods"
            if "RINGWORLD_SECRET" in env:
                yield f"{name}: the secret stands in the environment"
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            mounts = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
            if mounts != volumes.keys():
                yield f"{name}: volumes {mounts ^ volumes.keys()} are not both there and mounted"
            if volumes["secret"]["secret"].get("defaultMode") != 0o400:
                yield f"{name}: others than its owner can read the secret"
            if volumes["config"]["configMap"]["name"] not in configs:
                yield f"{name}: its ConfigMap is not there"


def check(files):
    wrong = 0
    for file in files:
        documents = list(yaml.safe_load_all(pathlib.Path(file).read_text()))
        said = list(faults(documents))
        for document in documents:
            parts = [job for _, job, _ in jobs(document)] if document["kind"] == "JobSet" else [document]
            for part in parts:
                for version in VERSIONS:
                    try:
                        kubernetes_validate.validate(part, version, strict=True)
                    except Exception as error:
                        said.append(f"{part['kind']}, Kubernetes {version}: {error}")
        for fault in said:
            print(f"{file}: {fault}")
        wrong += len(said)
    return 1 if wrong else 0


def pods(file, folder):
    """What the control plane would start, with what it fills in."""
    documents = list(yaml.safe_load_all(pathlib.Path(file).read_text()))
    for document in documents:
        if document["kind"] == "ConfigMap":
            for name, text in document["data"].items():
                (pathlib.Path(folder) / name).write_text(text)
    for document in documents:
        for name, job, subdomain in jobs(document):
            container = job["spec"]["template"]["spec"]["containers"][0]
            for index in range(job["spec"]["completions"]):
                env = {"JOB_COMPLETION_INDEX": str(index)}
                for variable in container["env"]:
                    env[variable["name"]] = variable.get("value", f"uid-of-{name}")
                # Only where enableServiceLinks is left at its default; they are to do no harm.
                env |= {
                    "RINGWORLD_SERVICE_HOST": "10.0.0.1",
                    "RINGWORLD_SERVICE_PORT": "29500",
                    "RINGWORLD_PORT": "tcp://10.0.0.1:29500",
                    "RINGWORLD_PORT_29500_TCP": "tcp://10.0.0.1:29500",
                    "RINGWORLD_PORT_29500_TCP_ADDR": "10.0.0.1",
                }
                pod = {"name": f"{name}-{index}", "host": f"{name}-{index}.{subdomain}", "env": env}
                print(json.dumps(pod | {"command": container["command"]}))


if __name__ == "__main__":
    if sys.argv[1] == "check":
        sys.exit(check(sys.argv[2:]))
    pods(*sys.argv[2:])
