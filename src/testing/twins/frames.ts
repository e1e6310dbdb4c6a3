/** Server-sent events in the forms that vendors have. */

/** A server-sent event in OpenAI's format. */
export const openaiFrame = (data: unknown): string =>
  `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** A server-sent event in Anthropic's format. */
export const anthropicFrame = (data: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
