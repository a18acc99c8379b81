#include <huon.h>
#include <stdio.h>

int main(void)
{
    huon_env *env;
    huon_txn *txn;
    huon_table ages;
    huon_bytes age;

    if (huon_open("people.huon", NULL, &env) != HUON_OK) {
        fprintf(stderr, "%s\n", huon_error_message());
        return 1;
    }
    huon_begin_write(env, -1, &txn);
    huon_table_create(txn, huon_str("ages"), NULL, &ages);
    if (huon_put(txn, ages, huon_str("ada"), huon_str("36"), NULL) != HUON_OK ||
        huon_commit(txn) != HUON_OK) /* all of it, or nothing */
        return 1;

    huon_begin_read(env, &txn);
    if (huon_get(txn, ages, huon_str("ada"), &age) == HUON_OK)
        printf("ada is %.*s\n", (int)age.len, (const char *)age.data);
    huon_abort(txn); /* what was shown is not to be read any more */
    return huon_close(env);
}
