/**
 * `npm run container`: assembles the root file system that `deploy/Dockerfile` describes, by its own steps, and
 * tries it as `compose.yaml` and `kubernetes.yaml` run it: without network, with a read-only root, as another user,
 * without privileges. For machines without a container engine; needs root and Linux's namespaces.
 */
import { execFileSync, spawn } from "node:child_process"
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "weir-container-"))
const node = join(root, "node_modules/node/bin/node")

const run = (command: string, args: ReadonlyArray<string>, cwd = dir): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1024 ** 3 })

interface Instruction {
  readonly name: string
  readonly rest: string
}

const instructions: ReadonlyArray<Instruction> = readFileSync(join(root, "deploy/Dockerfile"), "utf8")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => {
    const at = line.indexOf(" ")
    return { name: line.slice(0, at), rest: line.slice(at + 1).trim() }
  })

/** A stage whose steps are done. */
interface Stage {
  readonly path: string
  workdir: string
  user: string
  readonly env: Record<string, string>
  readonly volumes: Array<string>
  entrypoint: ReadonlyArray<string>
  command: ReadonlyArray<string>
  healthcheck: ReadonlyArray<string>
}

/** A program of this machine with its libraries: the base image has the same. */
const install = (path: string, program: string, as = program): void => {
  const libraries = [...run("ldd", [program]).matchAll(/(\/\S+) \(0x/g)].map(([, file = ""]) => file)
  for (const [from, to] of [[program, as] as const, ...libraries.map((file) => [file, file] as const)]) {
    mkdirSync(join(path, dirname(to)), { recursive: true })
    copyFileSync(from, join(path, to))
  }
}

/** Makes a base image with no more than the steps and the gateway need: so that a further need would be noticed. */
const baseImage = (path: string): void => {
  for (const folder of ["tmp", "proc", "dev", "etc", "var/lib"]) mkdirSync(join(path, folder), { recursive: true })
  writeFileSync(join(path, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")
  writeFileSync(join(path, "etc/group"), "root:x:0:\nnode:x:1000:\n")
  install(path, node, "/usr/local/bin/node")
  for (const program of ["sh", "mkdir", "chown"]) install(path, join("/bin", program))
}

const stages = new Map<string, Stage>()

const json = (text: string): ReadonlyArray<string> => JSON.parse(text)

const perform = (stage: Stage, { name, rest }: Instruction, isBuild: boolean): void => {
  switch (name) {
    case "WORKDIR":
      stage.workdir = rest
      mkdirSync(join(stage.path, rest), { recursive: true })
      return
    case "ENV":
      for (const [, key = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[key] = value
      return
    case "COPY": {
      const [, from] = /^--from=(\w+) /.exec(rest) ?? []
      const names = rest.replace(/^--from=\w+ /, "").split(/\s+/)
      const target = names.at(-1) ?? "."
      const source = from === undefined ? root : (stages.get(from)?.path ?? "")
      for (const one of names.slice(0, -1)) {
        const into = join(stage.path, stage.workdir, target)
        // A folder is copied as the target; files go into a target that ends with a slash or is a dot.
        const isInto = target.endsWith("/") || target === "."
        cpSync(join(source, one), isInto ? join(into, basename(one)) : into, {
          recursive: true,
          verbatimSymlinks: true,
        })
      }
      return
    }
    case "RUN":
      // The steps of the build need npm and a network: they run here, with the Node of the image.
      if (isBuild) {
        const path = `PATH=${dirname(node)}:${process.env["PATH"]}`
        run("env", [path, "bash", "-c", rest], join(stage.path, stage.workdir))
      } else run("chroot", [stage.path, "/bin/sh", "-c", rest])
      return
    case "USER":
      stage.user = rest
      return
    case "VOLUME":
      stage.volumes.push(rest)
      return
    case "ENTRYPOINT":
      stage.entrypoint = json(rest)
      return
    case "CMD":
      stage.command = json(rest)
      return
    case "HEALTHCHECK":
      stage.healthcheck = json(rest.slice(rest.indexOf("CMD") + 3))
      return
    case "EXPOSE":
      return
    default:
      throw new Error(`${name} is not known here`)
  }
}

const assemble = (): Stage => {
  let stage: Stage | undefined
  let isBuild = false
  for (const instruction of instructions) {
    if (instruction.name === "FROM") {
      const [, , name = "image"] = instruction.rest.split(" ")
      isBuild = name !== "image"
      const path = join(dir, name)
      mkdirSync(path)
      if (!isBuild) baseImage(path)
      stage = {
        path,
        workdir: "/",
        user: "root",
        env: {},
        volumes: [],
        entrypoint: [],
        command: [],
        healthcheck: [],
      }
      stages.set(name, stage)
    } else if (stage !== undefined) perform(stage, instruction, isBuild)
  }
  if (stage === undefined) throw new Error("the Dockerfile has no stage")
  return stage
}

const quote = (words: ReadonlyArray<string>): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ")

/**
 * Starts the gateway inside, waits until its health check passes, calls it, and stops it. Only the mounts of the deployment
 * files are writable: the volume and /tmp.
 */
const tryIn = async (image: Stage, variables: Readonly<Record<string, string>>, volume: string): Promise<string> => {
  const { path, workdir, user, entrypoint, command, healthcheck } = image
  const [, id = ""] = new RegExp(`^${user}:x:(\\d+)`, "m").exec(readFileSync(join(path, "etc/passwd"), "utf8")) ?? []
  const env = Object.entries({ PATH: "/usr/local/bin:/bin", ...image.env, ...variables }).map((pair) => pair.join("="))
  const enter = ["setpriv", "--no-new-privs", "/usr/sbin/chroot", `--userspec=${id}:${id}`, path, "/bin/sh", "-c"]
  const inside = (words: ReadonlyArray<string>): string =>
    quote(["env", "-i", ...env, ...enter, `cd ${workdir} && exec "$@"`, "sh", ...words])
  const script = `set -e
mount --make-rprivate /
mount --bind ${path} ${path}
mount --bind ${volume} ${path}${image.volumes[0]}
mount -t tmpfs -o mode=1777 tmpfs ${path}/tmp
mount -t proc proc ${path}/proc
for name in null urandom; do touch ${path}/dev/$name; mount --bind /dev/$name ${path}/dev/$name; done
mount -o remount,ro,bind ${path}
ip link set lo up
${inside([...entrypoint, ...command])} &
gateway=$!
for _ in $(seq 300); do
  ${inside(healthcheck)} 2>/dev/null && break
  kill -0 $gateway
  sleep 0.2
done
status() { awk -v name="$1:" '$1 == name { print $2 }' ${path}/proc/$gateway/status; }
echo "healthy, as user $(status Uid), capabilities $(status CapEff), no new privileges $(status NoNewPrivs)"
if ${inside(["/bin/sh", "-c", `: > ${workdir}/written`])} 2>/dev/null; then echo "its root can be written"; exit 1; fi
for _ in $(seq 300); do test -s ${path}/tmp/ready && break; sleep 0.1; done
ready() { ${node} -p 'JSON.parse(fs.readFileSync(process.argv[1]))[process.argv[2]]' ${path}/tmp/ready "$1"; }
echo "conformance: $(${inside([...entrypoint, "conformance", "http://127.0.0.1:8080"])} --key-id "$(ready keyId)" --key "$(ready key)" | tail -n 1)"
kill -TERM $gateway
wait $gateway
echo "stopped by SIGTERM, exit code 0"
`
  const child = spawn("unshare", ["--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", script], {
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
  })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk))
  const code = await Promise.race([
    new Promise<number | null>((resolve) => child.once("exit", resolve)),
    sleep(180_000, undefined, { ref: false }),
  ])
  child.kill("SIGKILL")
  if (code !== 0 || !text.includes(", 0 failed, ")) throw new Error(`it ended with ${code}:\n${text}`)
  // The lines of the gateway itself are not of interest.
  return text.replaceAll(/^(?!healthy|conformance|stopped).*\n/gm, "")
}

try {
  const image = assemble()
  const bytes = Number(run("du", ["-sb", image.path]).split("\t")[0])
  const volume = join(dir, "volume")
  mkdirSync(volume)
  run("chown", ["1000:1000", volume])
  console.log(`The image's root has ${(bytes / 2 ** 20).toFixed(0)} MiB`)
  if (existsSync(join(image.path, "weir/node_modules/vitest"))) throw new Error("it has dependencies of development")
  console.log(
    await tryIn(image, { SVC_ENV: "development", SVC_READY_FILE: "/tmp/ready", SVC_SHED_LAG_MS: "60000" }, volume),
  )
} finally {
  rmSync(dir, { recursive: true, force: true })
}
