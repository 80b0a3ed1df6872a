import { h } from './dom.js';

/** Opens a dialog, whose element is removed once it is closed; the browser returns the focus to where it was. */
export function openDialog(dialog, onClose = () => {}) {
  document.body.append(dialog);
  dialog.addEventListener('close', () => {
    dialog.remove();
    onClose();
  });
  dialog.showModal();
  return dialog;
}

/** Asks for a secret. It cannot be dismissed: without an answer the page has nothing to show. */
export function ask({ title, text, label }) {
  return new Promise(resolve => {
    const field = h('input', {
      type: 'password',
      required: true,
      // What a header can hold.
      pattern: '\\s*[!-~]+\\s*',
      title: 'Letters, digits and signs of ASCII',
      autocomplete: 'off',
      id: 'answer',
    });
    const onsubmit = event => {
      event.preventDefault();
      dialog.close();
      resolve(field.value.trim());
    };
    const dialog = h(
      'dialog',
      // Not every browser knows `closedby`, and without it Chromium lets a second Escape close the dialog.
      { 'aria-labelledby': 'ask-title', closedby: 'none', oncancel: event => event.preventDefault() },
      h('h2', { id: 'ask-title' }, title),
      h('p', {}, text),
      h(
        'form',
        { onsubmit },
        h('label', { for: 'answer' }, label),
        field,
        h('button', { class: 'primary', type: 'submit' }, 'Continue'),
      ),
    );
    openDialog(dialog);
    field.focus();
  });
}

/** Asks whether to do something; `action` names it on the button. */
export function confirm({ title, text, action }) {
  return new Promise(resolve => {
    const answer = value => ({ type: 'button', onclick: () => dialog.close(value) });
    const dialog = h(
      'dialog',
      { 'aria-labelledby': 'confirm-title', onclose: () => resolve(dialog.returnValue === 'yes') },
      h('h2', { id: 'confirm-title' }, title),
      h('p', {}, text),
      h(
        'p',
        { class: 'actions' },
        h('button', answer('no'), 'Cancel'),
        h('button', { ...answer('yes'), class: 'primary' }, action),
      ),
    );
    openDialog(dialog);
  });
}
