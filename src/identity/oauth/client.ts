/** A client that asks for authorization, from its document or its registration. */
import { hasUnseen } from "../../protocol/values/text.ts"
import { placeOf, shownHost } from "./redirect-uris.ts"

export const secretMethods = ["client_secret_basic", "client_secret_post"] as const
export const authMethods = ["none", ...secretMethods] as const
export type AuthMethod = (typeof authMethods)[number]

export interface OauthClient {
  readonly id: string
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  readonly authMethod: AuthMethod
  /** The SHA-256 of its secret; undefined for a public client. */
  readonly secretSha256: Buffer | undefined
  /** The host that published its document; undefined if it registered itself under any name. */
  readonly publisher: string | undefined
}

/** Whether all addresses of a client end on the person's own computer: any program there can claim to be the client. */
export const isLocal = ({ redirectUris }: OauthClient): boolean => redirectUris.every((uri) => placeOf(uri) !== "site")

const maxName = 100

/** The name of a client as pages show it: without characters that a person cannot see. */
export const shownName = (name: string | undefined, redirectUri: string): string => {
  const seen = [...(name ?? "").toWellFormed()].filter((character) => !hasUnseen(character)).join("")
  return seen.trim().slice(0, maxName).toWellFormed() || shownHost(redirectUri)
}
