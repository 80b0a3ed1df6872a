import { poll } from './api.js';
import { addressNow, attempt, h, notify, viewAddress } from './dom.js';

/**
 * Opens a record over its list, and keeps it up to date. `actions` has what can be done with it, by the names of the
 * buttons.
 */
export function openRecord(id, { read, titleOf, describe, actions = {} }) {
  const ended = new AbortController();
  const heading = h('h2', { id: 'record-title' }, id);
  const content = h('div', {});
  const said = h('p', { role: 'status' }, 'Loading …');
  const close = h('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  const buttons = Object.entries(actions).map(([name, { act }]) => {
    const onclick = attempt(async () => {
      await act(shown);
      await refresh();
      // The button that had the focus may be hidden now.
      close.focus();
    });
    return h('button', { type: 'button', hidden: true, onclick }, name);
  });
  const dialog = h(
    'dialog',
    { class: 'record', 'aria-labelledby': heading.id, onclose },
    h('div', { class: 'content' }, heading, said, content),
    h('p', { class: 'actions' }, buttons, close),
  );
  let shown;

  async function refresh() {
    const record = await read(id, ended.signal);
    said.textContent = '';
    if (JSON.stringify(record) === JSON.stringify(shown)) return;
    shown = record;
    heading.textContent = titleOf(record);
    content.replaceChildren(...describe(record).filter(Boolean));
    for (const button of buttons) button.hidden = !actions[button.textContent].isPossible(record);
  }

  function onclose() {
    ended.abort();
    notify('');
    dialog.remove();
    const { view, query } = addressNow();
    const { open, ...others } = query;
    if (open === id) location.hash = viewAddress(view, others);
  }

  document.body.append(dialog);
  dialog.showModal();
  poll(refresh, ended.signal, said);
  return dialog;
}
