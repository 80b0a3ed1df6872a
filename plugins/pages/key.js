/** The key is only in memory: it is gone when the page is closed or loaded again. */
let key;
let asking;

/** Whether this page uses the API key with this id. */
export const isOwnKey = id => key?.split('_')[1] === id.replaceAll('-', '');
export const hasKey = () => key !== undefined;
export const credentials = () => (key ? { authorization: `Bearer ${key}` } : {});

/**
 * Sends a request with the key of the page, and asks for another key when the service refuses that one. A missing
 * scope is a reason to ask only if the page names the scope: it then needs it for everything.
 * @param {string} url
 * @param {RequestInit} init
 * @param {string} [scope]
 */
export async function fetchWithKey(url, init = {}, scope) {
  for (;;) {
    const used = key;
    const response = await fetch(url, { ...init, headers: { ...init.headers, ...credentials() } });
    const isRefused = response.status === 401 || (response.status === 403 && scope !== undefined);
    if (!isRefused) return response;
    // Another request may have asked while this one was under way.
    if (used === key) await askForKey(await response.json().catch(() => ({})), scope);
  }
}

/** All requests that need the key wait for the same answer. */
function askForKey({ error }, scope) {
  asking ??= new Promise(resolve => {
    const dialog = document.createElement('dialog');
    dialog.innerHTML = `
      <form>
        <h2 id="key-title"></h2>
        <p></p>
        <label>API key or token
          <input type="password" required pattern="\\s*[!-~]+\\s*" title="Letters, digits and signs of ASCII" autocomplete="off">
        </label>
        <button class="primary">Use this key</button>
      </form>`;
    const scoped = scope ? ` with the scope ${scope}` : '';
    dialog.querySelector('h2').textContent = hasKey()
      ? 'The service refuses this key'
      : 'This service requires a key';
    dialog.querySelector('p').textContent =
      `${(hasKey() && error?.message) || ''} Enter an API key or a token${scoped}. This page keeps it only in memory: it is gone when you close or reload the page.`;
    dialog.setAttribute('aria-labelledby', 'key-title');
    // The dialog stays open: without a key the page shows nothing. Chromium needs `closedby` to ignore a second Escape.
    dialog.setAttribute('closedby', 'none');
    dialog.oncancel = event => event.preventDefault();
    dialog.querySelector('form').onsubmit = event => {
      event.preventDefault();
      key = dialog.querySelector('input').value.trim();
      asking = undefined;
      dialog.close();
      dialog.remove();
      resolve(undefined);
    };
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}
