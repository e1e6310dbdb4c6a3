/** The request for a session to a vendor with OpenAI's Realtime API. Source: OpenAI API reference, "Realtime". */
export interface RealtimeDialect {
  /** The path of the socket below the vendor's base URL. */
  readonly path: (model: string) => string
}

export const openaiRealtime: RealtimeDialect = {
  path: (model) => `/realtime?model=${encodeURIComponent(model)}`,
}

/** Source: Azure OpenAI, "How to use the Realtime API via WebSockets": a preview names the deployment. */
export const azureRealtime = (apiVersion: string | undefined): RealtimeDialect => ({
  path: (model) =>
    apiVersion === undefined
      ? `/openai/v1/realtime?model=${encodeURIComponent(model)}`
      : `/openai/realtime?api-version=${apiVersion}&deployment=${encodeURIComponent(model)}`,
})
