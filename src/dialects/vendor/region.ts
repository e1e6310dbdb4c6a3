/**
 * The region or geography in which a vendor says that it answered. Azure OpenAI and Groq send it in a header; Anthropic in
 * `usage.inference_geo`. https://platform.claude.com/docs/en/manage-claude/data-residency
 */

const headers = ["x-ms-region", "x-groq-region"] as const

/** The region that the head of a reply names; undefined if it names none, or a value that is no name. */
export const regionOfHead = (head: Readonly<Record<string, unknown>>): string | undefined => {
  for (const name of headers) {
    const region = regionName(head[name])
    if (region !== undefined) return region
  }
  return undefined
}

/** A name as vendors give them: `East US 2`, `us-west-1`, `eu`. Anything else is not recorded. */
export const regionName = (text: unknown): string | undefined =>
  typeof text === "string" && /^[a-z][a-z0-9 -]{1,39}$/i.test(text) ? text : undefined
