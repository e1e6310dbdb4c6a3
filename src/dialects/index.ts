/** Dialects by their name in the catalogue, with the changes of a vendor's profile. */
import { Result } from "effect"
import type { DialectName, Vendor } from "../protocol/catalogue.ts"
import { anthropic } from "./anthropic/vendor.ts"
import type { Dialect } from "./dialect.ts"
import { gemini } from "./gemini/vendor.ts"
import { chatProfiles } from "./openai-chat/profiles.ts"
import { makeChatDialect, openaiChat } from "./openai-chat/vendor.ts"
import { openaiResponses } from "./openai-responses/vendor.ts"

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
}

/** The dialect of a vendor of the catalogue. */
export const dialectOf = ({
  dialect: name,
  profile,
  apiVersion,
}: Pick<Vendor, "dialect" | "profile" | "apiVersion">): Dialect => {
  const dialect =
    name === "openai-chat" && profile !== undefined ? makeChatDialect(chatProfiles[profile]) : dialects[name]
  return profile === "azure" ? onAzure(dialect, apiVersion) : dialect
}

/**
 * Azure's access to a dialect: its own header, and the path of a deployment (named like the model) with an API version.
 * Source: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
const onAzure = (dialect: Dialect, apiVersion: string | undefined): Dialect => ({
  ...dialect,
  authorize: (credential) => ({ "api-key": credential }),
  canSearch: () => false,
  encode: (request) =>
    Result.map(dialect.encode(request), (wire) => ({
      ...wire,
      path: azurePath(wire.path, request.model, apiVersion),
    })),
})

const azurePath = (path: string, model: string, apiVersion: string | undefined): string => {
  if (apiVersion === undefined) return `/openai/v1${path}`
  const place = path === "/responses" ? "/openai" : `/openai/deployments/${encodeURIComponent(model)}`
  return `${place}${path}?api-version=${apiVersion}`
}
