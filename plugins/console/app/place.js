/** Where the reader is: a view and what it shows, in the fragment of the URL. */
export function placeNow() {
  const [view = '', search = ''] = location.hash.slice(1).split('?');
  return { view: view || 'events', query: Object.fromEntries(new URLSearchParams(search)) };
}

export function hrefOf(view, query = {}) {
  const search = String(new URLSearchParams(Object.entries(query)));
  return `#${view}${search && `?${search}`}`;
}

export function goTo(view, query) {
  location.hash = hrefOf(view, query);
}
