/** The answer to a request for authorization, in the query of the client's address. Sources: OAuth 2.1 section 4.1.2; RFC 9207. */
export interface AuthorizationAnswer {
  /** The authorization server, so that clients of several notice an answer of another one. */
  readonly iss: string
  readonly state: string | undefined
  readonly code?: string
  readonly error?: string
  readonly description?: string
}

/** The address as it was registered, with the answer behind it. */
export const answerUri = (
  redirectUri: string,
  { iss, state, code, error, description }: AuthorizationAnswer,
): string => {
  const query = new URLSearchParams({
    ...(code !== undefined && { code }),
    ...(error !== undefined && { error }),
    ...(description !== undefined && { error_description: description }),
    ...(state !== undefined && { state }),
    iss,
  })
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${query}`
}
