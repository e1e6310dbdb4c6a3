/** The deployment files match Weir's configuration and the rules for containers. */
import { existsSync, readFileSync } from "node:fs"
import { Effect } from "effect"
import { loadAll } from "js-yaml"
import { describe, expect, it } from "vitest"
import packageManifest from "../../package.json" with { type: "json" }
import { variableNames } from "../../src/config.ts"
import { nodeOptions } from "../support/node-options.ts"

const root = new URL("../../", import.meta.url)
const read = (name: string) => readFileSync(new URL(`deploy/${name}`, root), "utf8")
const lockfile = JSON.parse(readFileSync(new URL("package-lock.json", root), "utf8"))
const known = await Effect.runPromise(variableNames)

const dockerfile = read("Dockerfile")
const documents = (name: string) => loadAll(read(name)).map((document) => JSON.parse(JSON.stringify(document)))
const [compose] = documents("compose.yaml")
const manifests = documents("kubernetes.yaml")
const manifest = (kind: string) => manifests.find((one) => one.kind === kind)

describe("every file", () => {
  it.each(["Dockerfile", "compose.yaml", "kubernetes.yaml"])("%s names variables that there are", (name) => {
    const used = [...read(name).matchAll(/\bSVC_\w+/g)]
      .map(([variable]) => variable)
      .filter((variable) => variable !== "SVC_ADMIN_KEY")
    expect(used.length).toBeGreaterThan(3)
    for (const variable of used) expect([...known], variable).toContain(variable)
  })
})

describe("Dockerfile", () => {
  const lines = dockerfile
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
  it("has instructions that there are, from one pinned image, the Node that Weir runs on", () => {
    const instructions = [
      "FROM",
      "WORKDIR",
      "COPY",
      "RUN",
      "ENV",
      "VOLUME",
      "USER",
      "EXPOSE",
      "HEALTHCHECK",
      "ENTRYPOINT",
      "CMD",
    ]
    for (const line of lines) expect(instructions).toContain(line.split(" ")[0])
    const { version } = lockfile.packages["node_modules/node"]
    for (const [, image] of dockerfile.matchAll(/^FROM (\S+)/gm)) expect(image).toBe(`node:${version}-bookworm-slim`)
  })

  it("copies what exists", () => {
    for (const line of lines.filter((one) => one.startsWith("COPY") && !one.includes("--from"))) {
      for (const source of line.split(" ").slice(1, -1)) expect(existsSync(new URL(source, root)), source).toBe(true)
    }
  })

  it("copies what its build runs", () => {
    const copied = lines.filter((line) => line.startsWith("COPY")).join(" ")
    for (const [script] of packageManifest.scripts.build.matchAll(/scripts\/(?:\w+\.\w+|\w+(?=\/))/g))
      expect(copied).toContain(script)
  })

  it("starts Node with the options of npm start", () => {
    expect(nodeOptions).not.toEqual([])
    const command = ["node", ...nodeOptions, "dist/bin/main.js"].map((word) => `"${word}"`)
    expect(lines).toContain(`ENTRYPOINT [${command.join(", ")}]`)
  })

  it("runs without privileges, receives signals, and reports its health", () => {
    expect(lines).toContain("USER node")
    expect(dockerfile).toContain("/healthz")
    expect(dockerfile).not.toMatch(/:latest|curl \||--unsafe/)
  })
})

describe("compose.yaml", () => {
  it("has pinned images with health checks, in the order of their need", () => {
    expect(Object.keys(compose.services)).toEqual(["weir", "postgres", "redis"])
    for (const name of ["postgres", "redis"]) {
      expect(compose.services[name].image).toMatch(/^\w+:\d+\.\d+/)
      expect(compose.services[name].healthcheck.test).toBeDefined()
      expect(compose.services.weir.depends_on[name]).toEqual({ condition: "service_healthy" })
    }
    const volumes = Object.values<{ volumes?: ReadonlyArray<string> }>(compose.services).flatMap(
      ({ volumes = [] }) => volumes,
    )
    for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0])
  })

  it("gives the drain its time, and no secret a default", () => {
    const { environment, stop_grace_period } = compose.services.weir
    expect(Number.parseInt(stop_grace_period, 10) * 1000).toBeGreaterThan(Number(environment.SVC_DRAIN_TIMEOUT_MS))
    for (const name of ["SVC_ADMIN_KEY_SHA256", "SVC_MASTER_KEY"]) expect(environment[name]).toBe(`\${${name}:?}`)
  })
})

describe("what the image writes", () => {
  const [volume = ""] = [...dockerfile.matchAll(/^VOLUME (\S+)/gm)].map(([, path]) => path)
  it("is its volume and /tmp, and nothing else: both files mount these, and have a read-only root", () => {
    expect(dockerfile).toContain(`SVC_DATA_DIR=${volume}`)
    expect(compose.services.weir).toMatchObject({ read_only: true, tmpfs: ["/tmp"], volumes: [`weir:${volume}`] })
    const [{ volumeMounts }] = manifest("StatefulSet").spec.template.spec.containers
    expect(volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)).toEqual([volume, "/tmp"])
  })
})

describe("kubernetes.yaml", () => {
  const pods = manifests
    .filter(({ kind }) => kind === "StatefulSet" || kind === "Job")
    .map(({ spec }) => spec.template.spec)
  it("has pods that may do nothing, with bounds", () => {
    expect(pods).toHaveLength(2)
    for (const pod of pods) {
      expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
      for (const { image, resources, securityContext } of pod.containers) {
        expect(image).not.toMatch(/:latest$|^[^:]+$/)
        expect(resources).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        })
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        })
      }
    }
  })

  it("probes paths that exist, and waits longer than the drain", () => {
    const { spec } = manifest("StatefulSet").spec.template
    const [{ readinessProbe, livenessProbe, ports }] = spec.containers
    expect(readinessProbe.httpGet.path).toBe("/readyz")
    expect(livenessProbe.httpGet.path).toBe("/healthz")
    expect(ports.map(({ containerPort }: { containerPort: number }) => containerPort)).toEqual([
      8080,
      Number(manifest("ConfigMap").data.SVC_METRICS_PORT),
    ])
    expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(
      Number(manifest("ConfigMap").data.SVC_DRAIN_TIMEOUT_MS),
    )
  })

  it("selects what it labels", () => {
    const labels = manifest("StatefulSet").spec.template.metadata.labels
    expect(manifest("StatefulSet").spec.selector.matchLabels).toEqual(labels)
    expect(manifest("Service").spec.selector).toEqual(labels)
    expect(manifest("PodDisruptionBudget").spec.selector.matchLabels).toEqual(labels)
    expect(manifest("NetworkPolicy").spec.podSelector.matchLabels).toEqual(labels)
    for (const { apiVersion, kind, metadata } of manifests)
      expect([apiVersion, kind, metadata.name].join()).toMatch(/^(\w|[./])+,\w+,weir/)
  })
})

describe("the threat model", () => {
  const page = readFileSync(new URL("src/docs/explanation/threat-model.md", root), "utf8")
  it("names an existing test for every threat", () => {
    const rows = page.slice(page.indexOf("## Countermeasures"), page.indexOf("## Out of scope")).split("\n").slice(4)
    for (const row of rows.filter((line) => line.startsWith("|"))) {
      const tests = [...row.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, file = ""]) => file)
      expect(tests.length, row).toBeGreaterThan(0)
      for (const file of tests) expect(existsSync(new URL(file, root)), file).toBe(true)
    }
  })

  it.each([
    "README.md",
    "CONTRIBUTING.md",
    "docs/ARCHITECTURE.md",
    "docs/SECURITY.md",
    "docs/decisions/carrying.md",
    "docs/decisions/ledger-and-allotments.md",
    "docs/decisions/plain-checks.md",
    "docs/decisions/shards.md",
    "scripts/bench/README.md",
    "src/calls/README.md",
    "src/money/README.md",
    "src/store/shards/README.md",
  ])("%s links to files that exist", (page) => {
    const url = new URL(page, root)
    for (const [, link = ""] of readFileSync(url, "utf8").matchAll(/\]\(((?!http)[^)#]+)\)/g))
      expect(existsSync(new URL(link, url)), link).toBe(true)
  })
})
