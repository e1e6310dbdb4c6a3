/**
 * `npm run schemathesis`: requests that schemathesis (PyPI) generates from the OpenAPI document, sent to a gateway with
 * an operator's key, an application's key and an owner's token. It reports replies that the document does not have.
 *
 * `SVC_TEST_SCHEMATHESIS` is its program, `schemathesis` if absent; further arguments are its own, e.g. `--seed 7`.
 */
import { spawn } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { TokenReply } from "../src/protocol/control/login.ts"
import { StartedGateway } from "../test/support/started-gateway.ts"

const program = process.env["SVC_TEST_SCHEMATHESIS"] ?? "schemathesis"
/** The owner of the development catalogue. */
const owner = "ada@example.com"
const decodeTokens = Schema.decodeUnknownSync(TokenReply)

const logIn = async (gateway: StartedGateway, baseUrl: string): Promise<string> => {
  const post = (path: string, body: object) =>
    fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
  await post("/v1/auth/otp/request", { email: owner })
  let code: string | undefined
  for (let tries = 0; code === undefined && tries < 100; tries++) {
    await sleep(50)
    code = /code[^\n]*?(\d{6})\b/.exec(gateway.log)?.[1]
  }
  return decodeTokens(await (await post("/v1/auth/otp/verify", { email: owner, code })).json()).accessToken
}

const checks = fileURLToPath(new URL("schemathesis.toml", import.meta.url))

/** Whether it found nothing. @param cwd where it writes what it found */
const run = (baseUrl: string, headers: Readonly<Record<string, string>>, cwd: string): Promise<boolean> => {
  const child = spawn(
    program,
    [
      "--config-file",
      checks,
      "run",
      `${baseUrl}/openapi.json`,
      ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}:${value}`]),
      ...process.argv.slice(2),
    ],
    { stdio: "inherit", cwd },
  )
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code === 0))
  })
}

/** Each with a gateway of its own: what an operator changes is not there for the others. */
const roles = ["operator", "application", "owner"] as const

for (const role of roles) {
  const gateway = new StartedGateway()
  try {
    const { baseUrl = "", adminKey = "", keyId = "", key = "" } = await gateway.ready()
    const headers = {
      operator: () => ({ "x-svc-admin-key": adminKey }),
      application: () => ({ "x-svc-key-id": keyId, "x-svc-key": key }),
      owner: async () => ({ authorization: `Bearer ${await logIn(gateway, baseUrl)}`, "x-svc-org": "org_development" }),
    }
    // The first reader waits until the document is made, on a busy machine longer than schemathesis would.
    await (await fetch(`${baseUrl}/openapi.json`)).arrayBuffer()
    console.log(`# ${role}`)
    if (!(await run(baseUrl, await headers[role](), gateway.dir))) process.exitCode = 1
  } finally {
    await gateway.stop()
  }
}
