/** A browser without script: it stores cookies by host and path, follows redirects and refreshes, and submits forms. */
export interface Shown {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

interface Cookie {
  readonly host: string
  readonly path: string
  readonly name: string
  readonly value: string
  readonly attributes: string
}

const plain = (text: string): string =>
  text.replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code))).replaceAll("&amp;", "&")

const attributeOf = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]
  return found === undefined ? undefined : plain(found)
}

export class Browser {
  cookies: ReadonlyArray<Cookie> = []
  /** The visited URLs; the last one is shown. */
  passed: ReadonlyArray<string> = []
  #shown: Shown | undefined
  readonly #staysWithin: (url: URL) => boolean

  /** @param staysWithin the URLs that it follows; it stops before others */
  constructor(staysWithin: (url: URL) => boolean = () => true) {
    this.#staysWithin = staysWithin
  }

  get shown(): Shown {
    if (this.#shown === undefined) throw new Error("nothing is shown")
    return this.#shown
  }

  /** One request, without following redirects. */
  async request(url: URL, init: RequestInit = {}): Promise<Response> {
    const carried = this.cookies.filter(({ host, path }) => host === url.host && url.pathname.startsWith(path))
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: {
        accept: "text/html",
        ...init.headers,
        ...(carried.length > 0 && { cookie: carried.map(({ name, value }) => `${name}=${value}`).join("; ") }),
      },
    })
    for (const line of response.headers.getSetCookie()) this.#keep(url, line)
    return response
  }

  #keep(url: URL, line: string): void {
    const [, name = "", value = "", attributes = ""] = /^([^=]+)=([^;]*);?(.*)$/.exec(line) ?? []
    const path = /path=([^;]+)/i.exec(attributes)?.[1] ?? "/"
    const others = this.cookies.filter(
      (cookie) => cookie.host !== url.host || cookie.name !== name || cookie.path !== path,
    )
    const isGone = /max-age=0/i.test(attributes) || /expires=[^;]*1970/i.test(attributes)
    this.cookies = isGone ? others : [...others, { host: url.host, path, name, value, attributes }]
  }

  async visit(given: string | URL, init: RequestInit = {}): Promise<Shown> {
    let url = new URL(given)
    let request = init
    this.passed = []
    for (let hop = 0; hop < 20; hop++) {
      this.passed = [...this.passed, url.href]
      if (!this.#staysWithin(url)) return this.#show({ url, status: 0, headers: new Headers(), html: "" })
      const response = await this.request(url, request)
      const text = await response.text()
      const refresh = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(text)?.[1]
      const next = response.headers.get("location") ?? (refresh && plain(refresh))
      if (!next) return this.#show({ url, status: response.status, headers: response.headers, html: text })
      url = new URL(next, url)
      request = {}
    }
    throw new Error(`redirected without end: ${this.passed.join(" ")}`)
  }

  #show(shown: Shown): Shown {
    this.#shown = shown
    return shown
  }

  /** Submits the form whose action ends with this, with its hidden fields and these. */
  async submit(action: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Shown> {
    const { html, url } = this.shown
    for (const [form] of html.matchAll(/<form[\s\S]*?<\/form>/g)) {
      const to = attributeOf(form, "action") ?? ""
      if (!to.endsWith(action)) continue
      const all = new URLSearchParams()
      for (const [input] of form.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
        all.set(attributeOf(input, "name") ?? "", attributeOf(input, "value") ?? "")
      }
      for (const [name, value] of Object.entries(fields)) all.set(name, value)
      const target = new URL(to, url)
      if (attributeOf(form, "method") === "get") return this.visit(`${target}?${all}`)
      const sent = { "content-type": "application/x-www-form-urlencoded", origin: url.origin, ...headers }
      return this.visit(target, { method: "POST", body: all.toString(), headers: sent })
    }
    throw new Error(`no form ${action} on ${url}: ${html}`)
  }
}
