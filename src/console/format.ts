/** Numbers, money and times as people read them. Pure. */

/** Browsers take long to make a format: each is made when it is used first. */
const lazily = <A>(make: () => A) => {
  let made: A | undefined
  return (): A => {
    made ??= make()
    return made
  }
}

const short = lazily(() => new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }))

export const count = (value: number): string =>
  value < 100_000 ? grouped(String(Math.round(value))) : short().format(value)
/** Every digit of a count, if a rounded one would be another. */
export const exactCount = (value: number): string => grouped(String(value))
export const share = (part: number, of: number): string => (of === 0 ? "–" : `${((100 * part) / of).toFixed(1)} %`)

/** Milliseconds with their unit. */
export const millis = (value: number | null | undefined): string => {
  if (value === null || value === undefined) return "–"
  if (value < 1000) return `${Math.round(value)} ms`
  if (value < 60_000) return `${Number((value / 1000).toFixed(value < 10_000 ? 2 : 1))} s`
  return value < 3_600_000
    ? `${Number((value / 60_000).toFixed(1))} min`
    : `${Number((value / 3_600_000).toFixed(1))} h`
}

/** An exact amount, to read: six digits after the point at most, all of them in the title. */
export const money = (amount: string, currency = ""): string => {
  const [integer = "0", fraction = ""] = amount.split(".")
  const kept = fraction.slice(0, 6).replace(/0+$/, "").padEnd(2, "0")
  const rest = /[1-9]/.test(fraction.slice(6)) ? "…" : ""
  return `${grouped(integer)}.${kept}${rest}${currency === "" ? "" : ` ${currency}`}`
}

/** An amount for figures, where every digit would distract: cents from 1 on, two digits of smaller amounts. */
export const roundedMoney = (amount: string, currency = ""): string => {
  const [integer = "0", fraction = ""] = amount.split(".")
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  const digits = /[1-9]/.test(integer) ? 2 : Math.max(2, Math.min(6, zeros + 2))
  return `${grouped(integer)}.${fraction.slice(0, digits).padEnd(2, "0")}${currency === "" ? "" : ` ${currency}`}`
}

/** Amounts by currency, for figures. */
export const roundedMonies = (amounts: Readonly<Record<string, string>>): string => {
  const known = Object.entries(amounts)
  return known.length === 0 ? "0.00" : known.map(([currency, amount]) => roundedMoney(amount, currency)).join(" + ")
}

const grouped = (integer: string): string => integer.replace(/\B(?=(\d{3})+(?!\d))/g, ",")

/** Amounts by currency. */
export const monies = (amounts: Readonly<Record<string, string>>): string => {
  const known = Object.entries(amounts)
  return known.length === 0 ? "0.00" : known.map(([currency, amount]) => money(amount, currency)).join(" + ")
}

export const bytes = (value: number): string => (value < 1024 ? `${value} B` : `${(value / 1024).toFixed(1)} KiB`)

/** In the time zone of the browser. */
const formatOf = (options: Intl.DateTimeFormatOptions) => lazily(() => new Intl.DateTimeFormat("en-GB", options))

const toTheSecond = { month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" } as const
const sameYear = formatOf(toTheSecond)
const dateTime = formatOf({ year: "2-digit", ...toTheSecond })

/** A date and time. The year is shown if it is not this year. */
export const instant = (text: string): string => {
  const date = new Date(text)
  return (date.getFullYear() === new Date().getFullYear() ? sameYear() : dateTime()).format(date)
}

const clock = formatOf({ hour: "2-digit", minute: "2-digit" })
const day = formatOf({ day: "numeric", month: "short" })

/** A tick of a time axis, in seconds; midnight is shown as its day. */
export const tick = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return (date.getHours() + date.getMinutes() === 0 ? day() : clock()).format(date)
}

/** The time since an instant, in its largest unit. */
export const since = (text: string, nowMs = Date.now()): string => {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(text)) / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}
