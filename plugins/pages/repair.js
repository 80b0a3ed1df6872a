/**
 * Gives elements of a library what they lack for people who do not see the page. `missing` has the properties to set,
 * by selector. Elements that come later get them too.
 * @param {Element} root
 * @param {Record<string, object>} missing
 */
export function repair(root, missing) {
  const repairAll = () => {
    for (const [selector, members] of Object.entries(missing))
      for (const element of root.querySelectorAll(selector)) Object.assign(element, members);
  };
  new MutationObserver(repairAll).observe(root, {
    subtree: true,
    childList: true,
    attributeFilter: ['class'],
  });
}
