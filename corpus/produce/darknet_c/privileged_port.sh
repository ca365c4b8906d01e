# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# why = "a port below 1024 needs a privilege that the job lacks"
# ///
# The parameter server in C binds a port that only root may use.
cat > ps.c <<'C'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    int port = atoi(argv[1]), s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fprintf(stderr, "ps-lite: van starts on 127.0.0.1:%d\n", port);
    if (bind(s, (struct sockaddr *)&a, sizeof a)) { perror("ps-lite: bind"); return 1; }
    fprintf(stderr, "ps-lite: bound\n");
    return 0;
}
C
gcc -o ps ps.c || exit 90
exec setpriv --bounding-set=-net_bind_service ./ps 443
