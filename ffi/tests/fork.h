/* Children. */

#ifndef FORK_H
#define FORK_H

/* Ends a child that has done its work. */
void child_is_done(void);

/* Does it in a child, which may neither fail nor hang. */
void in_child(void (*work)(void *), void *argument);

/* Uses a client of its own; for in_child. */
void use_own(void *argument);

#endif
