/**
 * `npm run scim`: the checks of scim2-tester (PyPI, with `scim2-client[httpx2]`) against a gateway of its own. Without them it says so and ends.
 *
 * `SVC_TEST_SCIM_PYTHON` is a Python that has them, `python3` if absent.
 */
import { spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { ScimToken } from "../src/protocol/control/scim.ts"
import { StartedGateway } from "../test/support/started-gateway.ts"

const python = process.env["SVC_TEST_SCIM_PYTHON"] ?? "python3"
const checks = fileURLToPath(new URL("scim-checks.py", import.meta.url))
const decodeToken = Schema.decodeUnknownSync(ScimToken)

/** Whether all checks succeed. */
const run = (url: string, token: string): Promise<boolean> => {
  const child = spawn(python, [checks, url, token], { stdio: "inherit" })
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code === 0))
  })
}

if (spawnSync(python, ["-c", "import scim2_tester, httpx2"]).status !== 0) {
  console.error(`Left out: ${python} has no scim2-tester and httpx2`)
} else {
  const gateway = new StartedGateway()
  try {
    const { baseUrl = "", adminKey = "" } = await gateway.ready()
    const made = await fetch(`${baseUrl}/v1/admin/orgs/org_development/scim`, {
      method: "POST",
      headers: { "x-svc-admin-key": adminKey },
    })
    const { token } = decodeToken(await made.json())
    if (!(await run(`${baseUrl}/scim/v2`, token))) process.exitCode = 1
  } finally {
    await gateway.stop()
  }
}
