/** Tenants that are made and changed during a fault run: each once, and no change that was answered may be lost. */
import { setTimeout as sleep } from "node:timers/promises"

export interface ChurnOptions {
  readonly urls: ReadonlyArray<string>
  readonly adminKey: string
  readonly pick: (count: number) => number
}

interface Org {
  readonly key: string
  /** Known once its creation was answered. */
  id: string | undefined
  /** Names that it may have: the last that was answered, and later ones whose answer was lost. */
  names: Array<string>
}

/** Makes an organisation under an idempotency key and changes it, at whichever gateway, again and again. */
export const startTenantChurn = ({ urls, adminKey, pick }: ChurnOptions) => {
  const orgs: Array<Org> = []
  const tally = { made: 0, changed: 0, unanswered: 0 }
  let running = true

  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    try {
      const reply = await fetch(`${urls[pick(urls.length)]}/v1/admin/${path}`, {
        method,
        headers: { "content-type": "application/json", "x-svc-admin-key": adminKey, ...headers },
        signal: AbortSignal.timeout(10_000),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: reply.status, body: JSON.parse(await reply.text()) }
    } catch {
      return undefined
    }
  }
  /** Creates it, however often that has to be asked for. */
  const make = async (org: Org) => {
    const value = { name: org.key, currency: "USD", models: ["main"] }
    const items = [{ op: "create", kind: "org", value }]
    const reply = await ask("POST", "tenants:batch", { items }, { "idempotency-key": org.key })
    org.id = reply?.status === 200 ? reply.body.data[0]?.id : undefined
    if (org.id !== undefined) tally.made++
  }
  const change = async (org: Org, name: string) => {
    const reply = await ask("PATCH", `orgs/${org.id}`, { name })
    if (reply?.status === 200) {
      org.names = [name]
      tally.changed++
    } else {
      org.names.push(name)
      tally.unanswered++
    }
  }

  const churn = (async () => {
    for (let at = 0; running; at++) {
      if (orgs.length < 20 || pick(4) === 0) orgs.push(orgOf(at))
      const org = orgs[pick(orgs.length)]
      if (org === undefined) continue
      await (org.id === undefined ? make(org) : change(org, `${org.key}-${at}`))
      await sleep(20)
    }
  })()

  /** Ends it; what was found wrong, and what was done. */
  const stop = async (): Promise<{ readonly problems: ReadonlyArray<string>; readonly summary: string }> => {
    running = false
    await churn
    const problems: Array<string> = []
    for (const org of orgs) {
      for (let tries = 0; org.id === undefined && tries < 100; tries++) {
        await make(org)
        if (org.id === undefined) await sleep(200)
      }
      const found = await ask("GET", `orgs/${org.id}`)
      if (!org.names.includes(found?.body.name)) {
        problems.push(`${org.key} is named ${found?.body.name}; it may be ${org.names.join(" or ")}`)
      }
      const listed = await ask("GET", `orgs?search=${org.key}&limit=200`)
      const same = (listed?.body.data ?? []).filter(({ name }: { readonly name: string }) => isOf(name, org.key))
      if (same.length !== 1) problems.push(`${org.key} was made ${same.length} times`)
    }
    const { made, changed, unanswered } = tally
    return { problems, summary: `${made} organisations made, ${changed} changes, ${unanswered} without an answer` }
  }
  return { stop }
}

/** No key begins with another one: a search for it finds its names alone. */
const orgOf = (at: number): Org => {
  const key = `churn-${String(at).padStart(7, "0")}`
  return { key, id: undefined, names: [key] }
}

/** e.g. `churn-0000001` and `churn-0000001-7`. */
const isOf = (name: string, key: string): boolean => name === key || name.startsWith(`${key}-`)
