/* Children. */

#ifndef FORK_H
#define FORK_H

/* Does it in a child, which may neither fail nor hang. */
void in_child(void (*work)(void *), void *argument);

#endif
