/** Google's token endpoint for a test: it verifies the statement's signature, and issues tokens that it knows again. */
import { generateKeyPairSync } from "node:crypto"
import { createServer } from "node:http"
import { jwtVerify } from "jose"
import { portOf } from "../../src/testing/port.ts"

export interface TokenEndpoint {
  /** The JSON of a service account that signs in here. */
  readonly account: string
  /** Tokens that were issued. */
  readonly issued: ReadonlyArray<string>
  /** Its answer: a status other than 200 is a refusal. */
  answers: { status: number; expiresIn: number }
  /** The reasons why statements were refused. */
  readonly refusals: ReadonlyArray<string>
  readonly stop: () => void
}

const email = "weir@project.iam.gserviceaccount.com"

export const startTokenEndpoint = async (): Promise<TokenEndpoint> => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const issued: Array<string> = []
  const refusals: Array<string> = []
  const answers = { status: 200, expiresIn: 3600 }
  let uri = ""
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"))
    try {
      const { payload } = await jwtVerify(form.get("assertion") ?? "", publicKey, { issuer: email, audience: uri })
      if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") throw new Error("grant type")
      if (payload["scope"] !== "https://www.googleapis.com/auth/cloud-platform") throw new Error("scope")
      if ((payload.exp ?? 0) - (payload.iat ?? 0) > 3600) throw new Error("too long")
    } catch (error) {
      refusals.push(String(error))
      answers.status = 400
    }
    response.writeHead(answers.status, { "content-type": "application/json" })
    if (answers.status !== 200) {
      response.end(JSON.stringify({ error: answers.status === 400 ? "invalid_grant" : "unavailable" }))
      return
    }
    const token = `ya29.token-${issued.length}`
    issued.push(token)
    response.end(JSON.stringify({ access_token: token, expires_in: answers.expiresIn, token_type: "Bearer" }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  uri = `http://127.0.0.1:${portOf(server)}/token`
  return {
    account: JSON.stringify({
      type: "service_account",
      project_id: "project",
      private_key_id: "key-1",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      client_email: email,
      token_uri: uri,
    }),
    issued,
    answers,
    refusals,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
