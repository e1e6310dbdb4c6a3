/** A size as price lists name it: vendors read `4k` as `4K`, and so does a price. */
export const pricedSize = (size: string): string => size.replace(/k$/, "K")
