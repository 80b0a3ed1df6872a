import { jump } from './jump.js';

const isTyping = target => target.matches('input:not([type="radio"], [type="checkbox"]), textarea, select');

/** Does what a key means: everywhere, or in the view, whose keys are given. Letters do nothing while one types. */
export function pressKey(event, keys) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey) {
    if (key === 'k') jump();
    else if (key === 'Enter')
      /** @type {HTMLFormElement | null} */ (
        document.querySelector('dialog[open] form, main form:has(.save)')
      )?.requestSubmit();
    else return;
    return event.preventDefault();
  }
  if (event.altKey || document.querySelector('dialog[open]')) return;
  const menu = document.querySelector('details.menu[open]');
  if (key === 'Escape' && menu) {
    menu.removeAttribute('open');
    return menu.querySelector('summary').focus();
  }
  if (isTyping(target)) return key === 'Escape' ? target.blur() : undefined;
  if (key === 'Enter' && target.matches('a, button, summary, label, input')) return;
  const act = keys[key.length === 1 ? key.toLowerCase() : key];
  if (!act) return;
  event.preventDefault();
  act();
}

addEventListener('click', event => {
  const target = /** @type {Element} */ (event.target);
  for (const menu of document.querySelectorAll('details.menu[open]'))
    if (target.isConnected && !menu.contains(target)) menu.removeAttribute('open');
});
