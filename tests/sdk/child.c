/* The child of docs/channel-for-any-language.md, written from that page: the command `sum` in C, and no JSON library. */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL 3
#define TOKEN 4
#define FRAME 262144

static char line[FRAME + 1];

static void give_up(const char *why) {
    fprintf(stderr, "sum: %s\n", why);
    exit(1);
}

/* One line of the host, without its LF; byte by byte, so that nothing behind it is taken. */
static void hear(void) {
    size_t used = 0;
    for (;;) {
        ssize_t got = read(CHANNEL, line + used, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) give_up("the host has gone");
        if (line[used] == '\n') break;
        if (++used >= FRAME) give_up("the line is too long");
    }
    line[used] = 0;
}

static void say(const char *frame) {
    size_t left = strlen(frame);
    while (left > 0) {
        ssize_t put = write(CHANNEL, frame, left);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) give_up("the host has gone");
        frame += put;
        left -= (size_t)put;
    }
}

/* Behind a value that begins at `at`; strings, objects and arrays are passed over as a whole. */
static const char *behind(const char *at) {
    int depth = 0;
    do {
        if (*at == '"') {
            for (at++; *at != '"'; at++) {
                if (*at == 0) give_up("the host's line is no JSON");
                if (*at == '\\') at++;
            }
            at++;
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (depth > 0) {
            if (*at == 0) give_up("the host's line is no JSON");
            at++;
        } else {
            at += strcspn(at, ",}] \t\r");
        }
    } while (depth > 0);
    return at;
}

/* Where the value of the member `name` of the object at `at` begins, or NULL. Names of frames have no escapes. */
static const char *member(const char *at, const char *name) {
    size_t length = strlen(name);
    at += strspn(at, " \t\r");
    if (*at++ != '{') give_up("the host's line is no object");
    for (;;) {
        at += strspn(at, " \t\r,");
        if (*at != '"') return NULL;
        int found = strncmp(at + 1, name, length) == 0 && at[1 + length] == '"';
        at = behind(at);
        at += strspn(at, " \t\r:");
        if (found) return at;
        at = behind(at);
    }
}

static int is(const char *value, const char *literal) {
    return value != NULL && strncmp(value, literal, strlen(literal)) == 0;
}

/* A value as it was written, quotes and escapes included. */
static char *literal(const char *value) {
    if (value == NULL) give_up("a member is missing");
    return strndup(value, (size_t)(behind(value) - value));
}

/* The token as JSON text. */
static char *quoted(const char *text) {
    char *made = malloc(2 * strlen(text) + 3), *at = made;
    if (made == NULL) give_up("no memory");
    for (*at++ = '"'; *text; *at++ = *text++)
        if (*text == '"' || *text == '\\') *at++ = '\\';
    strcpy(at, "\"");
    return made;
}

int main(void) {
    char token[4096], *answer, *session, *note;
    size_t used = 0;
    ssize_t got;
    while ((got = read(TOKEN, token + used, sizeof token - 1 - used)) > 0) used += (size_t)got;
    if (got < 0) give_up("this program is started by a host, which gives it descriptors 3 and 4");
    token[used] = 0;

    hear();
    if (!is(member(line, "protocol"), "\"rukh.channel/1\"")) give_up("the host speaks another protocol");
    session = literal(member(line, "session"));
    if (asprintf(&answer,
                 "{\"type\":\"confirm\",\"session\":%s,\"token\":%s,\"sdk\":\"sum-c/1\"}\n", session,
                 quoted(token)) < 0)
        give_up("no memory");
    say(answer);

    hear();
    if (is(member(line, "type"), "\"cancel\"")) return 0;
    if (!is(member(line, "type"), "\"execute\"")) {
        say("{\"type\":\"completion\",\"status\":\"command_failed\"}\n");
        return 1;
    }
    const char *inputs = member(line, "inputs");
    if (inputs == NULL || !is(member(line, "command"), "\"sum\"")) give_up("this program has the command sum alone");
    const char *left = member(inputs, "left"), *right = member(inputs, "right");
    if (left == NULL || right == NULL) give_up("left and right are required");
    note = member(inputs, "note") ? literal(member(inputs, "note")) : strdup("\"\"");
    long long sum = strtoll(left, NULL, 10) + strtoll(right, NULL, 10); /* each within 2^53-1 */

    say("{\"type\":\"progress\",\"progress\":1,\"total\":1,\"message\":\"summed\"}\n");
    if (sum > 9007199254740991LL || sum < -9007199254740991LL) {
        say("{\"type\":\"completion\",\"status\":\"command_failed\",\"exitCode\":3,"
            "\"message\":\"the sum is no exact integer\"}\n");
        return 3;
    }
    if (asprintf(&answer,
                 "{\"type\":\"completion\",\"status\":\"succeeded\",\"commandResult\":"
                 "{\"kind\":\"structured\",\"data\":{\"note\":%s,\"sum\":%lld}}}\n",
                 note, sum) < 0)
        give_up("no memory");
    say(answer);
    return 0;
}
