/**
 * The credential of the playground's calls: a token of the person, a short key that is made for an organisation, or one
 * that is typed. It is in this page's memory alone, and is revoked when the page is left.
 */

import type { AccessTokenMinted } from "../../../protocol/control/access-token.ts"
import type { KeyMinted } from "../../../protocol/control/admin-directory.ts"
import type { AppRecord } from "../../../protocol/control/tenants.ts"
import { ApiError, call, get, send } from "../../api.ts"
import type { Page } from "../../load.ts"
import type { Viewer } from "../../viewer.ts"

/** Returns `KEY_ID~SECRET`, or a token; makes one if there is none that is valid. */
export type Credential = () => Promise<string>

interface Made {
  /** The person's or operator's organisation. */
  readonly org: string
  readonly text: string
  readonly endsAtMs: number
  readonly revoke: () => Promise<unknown>
}

let made: Made | undefined

const keyMs = 15 * 60_000
/** A credential that ends sooner is not used any more. */
const leastMs = 30_000

/** The credential of a viewer in an organisation. */
export const credentialIn =
  (viewer: Viewer, org: string): Credential =>
  async () => {
    if (made !== undefined && made.org === org && made.endsAtMs - Date.now() > leastMs) return made.text
    made = viewer.kind === "person" ? await personToken(org) : await shortKey(org)
    return made.text
  }

const personToken = async (org: string): Promise<Made> => {
  const { id, secret } = await call<AccessTokenMinted>("POST", "v1/tokens", {
    body: { name: "Playground", scopes: ["runtime"], expiresInDays: 1 },
  })
  const path = `v1/tokens/${encodeURIComponent(id)}`
  return { org, text: secret, endsAtMs: Date.now() + 86_400_000, revoke: () => send("DELETE", path, keepalive) }
}

const shortKey = async (org: string): Promise<Made> => {
  const apps = await get<Page<typeof AppRecord.Type>>("v1/admin/apps", { org, status: "active", limit: "1" })
  const app = apps.data[0]
  if (app === undefined) {
    throw new ApiError(400, "no_application", "The organisation has no application. Create one on its page first.")
  }
  const endsAtMs = Date.now() + keyMs
  const { keyId, key } = await call<KeyMinted>("POST", "v1/admin/keys", {
    body: { app: app.id, name: "Playground", expiresAt: new Date(endsAtMs).toISOString() },
  })
  const path = `v1/admin/keys/${encodeURIComponent(keyId)}/revoke`
  return { org, text: `${keyId}~${key}`, endsAtMs, revoke: () => send("POST", path, keepalive) }
}

/** The request goes on after its page is gone. */
const keepalive = { keepalive: true }

addEventListener("pagehide", () => {
  made?.revoke().catch(() => undefined)
  made = undefined
})
