/** The four stores of secrets for a test: each answers as its service does, and refuses what that refuses. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { type Answer, type Asked, type Issuer, startIssuer } from "./issuer.ts"
import { refusalOf } from "./sigv4.ts"

export interface Twin extends Pick<Issuer, "url" | "asked" | "stop"> {
  /** The text of each secret by its name. */
  readonly secrets: Map<string, string>
  /** Answers everything with this, while it is set. */
  down: Answer | undefined
}

const twin = async (
  answer: (asked: Asked, secrets: Map<string, string>) => Answer,
  options: { readonly isSecure?: boolean } = {},
): Promise<Twin> => {
  const secrets = new Map<string, string>()
  const issuer = await startIssuer((asked) => made.down ?? answer(asked, secrets), options)
  const made: Twin = { url: issuer.url, asked: issuer.asked, stop: issuer.stop, secrets, down: undefined }
  return made
}

const errors = (status: number, ...list: ReadonlyArray<string>): Answer => ({ status, body: { errors: list } })

export interface VaultTwin extends Twin {
  /** Tokens that are valid. */
  readonly tokens: Set<string>
}

/** Vault with version 2 of the key-value engine at `secret/`, version 1 at `old/`, and both methods of login. */
export const startVault = async (
  namespace?: string,
  options: { readonly isSecure?: boolean } = {},
): Promise<VaultTwin> => {
  const tokens = new Set(["root-token"])
  const login = (): Answer => {
    const token = `hvs.issued-${tokens.size}`
    tokens.add(token)
    return { body: { auth: { client_token: token, lease_duration: 3600, renewable: true } } }
  }
  const vault = await twin(({ method, path, headers, body }, secrets) => {
    if (headers["x-vault-request"] !== "true") return errors(412, "required 'X-Vault-Request' header is missing")
    if (headers["x-vault-namespace"] !== namespace) return errors(403, "permission denied")
    if (method === "POST") {
      const sent = JSON.parse(body)
      if (path === "/v1/auth/kubernetes/login" && sent.role === "weir" && sent.jwt === "service-account") return login()
      if (path === "/v1/auth/approle/login" && sent.role_id === "role" && sent.secret_id === "secret") return login()
      return errors(400, "invalid role or secret ID")
    }
    if (!tokens.has(String(headers["x-vault-token"]))) return errors(403, "permission denied")
    const [, , mount, ...rest] = path.split("/")
    if (mount === "secret" && rest[0] !== "data") return errors(404, "no handler for route")
    const found = secrets.get(path.slice("/v1/".length))
    if (found === undefined) return errors(404)
    const data = JSON.parse(found)
    return mount === "secret"
      ? { body: { lease_duration: 0, data: { data, metadata: { version: 1, deletion_time: "", destroyed: false } } } }
      : { body: { lease_duration: 2764800, data } }
  }, options)
  return Object.assign(vault, { tokens })
}

export const awsKeys = { accessKeyId: "AKIDSECRETS", secretAccessKey: "aws-key-of-tests" }

const awsError = (type: string, status = 400): Answer => ({
  status,
  type: "application/x-amz-json-1.1",
  body: { __type: type, message: `with ${awsKeys.secretAccessKey}` },
})

/** Secrets Manager: verifies the signature. A secret that begins with `binary:` is a SecretBinary in base64. */
export const startAws = (): Promise<Twin> =>
  twin(({ method, path, headers, body }, secrets) => {
    if (headers.authorization === undefined) return awsError("MissingAuthenticationTokenException", 403)
    if (headers["content-type"] !== "application/x-amz-json-1.1") return awsError("UnknownOperationException", 404)
    if (headers["x-amz-target"] !== "secretsmanager.GetSecretValue") return awsError("UnknownOperationException", 404)
    if (refusalOf({ method, path, headers, body }, awsKeys, "secretsmanager") !== undefined) {
      return awsError("InvalidSignatureException", 403)
    }
    const secret = secrets.get(JSON.parse(body).SecretId)
    if (secret === undefined) return awsError("ResourceNotFoundException")
    const value = secret.startsWith("binary:")
      ? { SecretBinary: secret.slice("binary:".length) }
      : { SecretString: secret }
    return {
      type: "application/x-amz-json-1.1",
      body: { ARN: "arn", Name: "n", VersionStages: ["AWSCURRENT"], ...value },
    }
  })

/** Secret Manager. Secrets are in base64. @param isToken whether Google has issued it */
export const startGoogle = (isToken: (token: string) => boolean): Promise<Twin> =>
  twin(({ path, headers }, secrets) => {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1]
    if (token === undefined || !isToken(token)) return { status: 401, body: { error: { status: "UNAUTHENTICATED" } } }
    const name = /^\/v1\/(projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/:]+):access$/.exec(path)?.[1]
    const data = name === undefined ? undefined : secrets.get(name)
    if (data === undefined) return { status: 404, body: { error: { status: "NOT_FOUND" } } }
    return { body: { name, payload: { data, dataCrc32c: "1" } } }
  })

/** Key vaults, each below its name. */
export const startAzure = (): Promise<Twin> =>
  twin(({ path, headers }, secrets) => {
    if (headers.authorization !== "Bearer managed-for-vaults") {
      return { status: 401, body: { error: { code: "Unauthorized" } }, headers: { "www-authenticate": "Bearer" } }
    }
    const url = new URL(path, "http://vault")
    if (url.searchParams.get("api-version") === null) {
      return { status: 400, body: { error: { code: "BadParameter" } } }
    }
    const value = secrets.get(url.pathname)
    if (value === undefined) return { status: 404, body: { error: { code: "SecretNotFound" } } }
    return { body: { value, id: `https://v${url.pathname}`, attributes: { enabled: true } } }
  })

export const writeFile = (path: string, text: string): string => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}
