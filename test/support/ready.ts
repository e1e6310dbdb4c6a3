/** The line that a gateway of a test writes when it is ready, and requests with the key in it. */
export interface Ready {
  readonly baseUrl: string
  readonly pid: number
  readonly keyId: string
  readonly key: string
  readonly adminKey: string
}

export const requestsTo = ({ baseUrl, keyId, key }: Ready) => {
  const post = (path: string) => (body: object) =>
    fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-key-id": keyId, "x-svc-key": key },
      body: JSON.stringify(body),
    })
  return { exchange: post("/t1/exchange"), search: post("/t1/websearch") }
}
