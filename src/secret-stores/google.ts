/**
 * Secrets of Google's Secret Manager, with the identity of the machine.
 * Source: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
 */
import { Effect, Schema } from "effect"
import { makeGoogleIdentity } from "../cloud-identities/google.ts"
import { askAs, type Client, type ReadSecret, reader, refusedWith, textOfBase64 } from "./store.ts"

const store = "Google Secret Manager"

const readReply = reader(store, Schema.Struct({ payload: Schema.Struct({ data: Schema.String }) }))

export const readGoogle = (client: Client, baseUrl: string): ReadSecret =>
  Effect.fnUntraced(function* (name) {
    const { status, body } = yield* askAs(makeGoogleIdentity("default"), client, store, {
      method: "GET",
      baseUrl,
      path: `/v1/${resourceOf(name)}:access`,
    })
    if (status !== 200) return yield* refusedWith(store, status)
    const { payload } = yield* readReply(body)
    return yield* textOfBase64(payload.data)
  })

/** The short form is a project and a secret, and the newest version if it names none. */
const resourceOf = (name: string): string => {
  if (name.startsWith("projects/")) return name
  const [project, secret, version = "latest"] = name.split("/")
  return `projects/${project}/secrets/${secret}/versions/${version}`
}
