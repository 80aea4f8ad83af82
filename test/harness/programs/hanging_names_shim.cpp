// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Loaded into a program with LD_PRELOAD: the addresses of names that end with "hangs.invalid" are looked up for a
// minute, as with a name server that does not answer.
#include <dlfcn.h>
#include <netdb.h>
#include <unistd.h>

#include <string_view>

extern "C" __attribute__((visibility("default"))) int
getaddrinfo(char const* node, char const* service, addrinfo const* hints, addrinfo** result)
{
    if (node != nullptr && std::string_view(node).ends_with("hangs.invalid")) {
        ::sleep(60);
        return EAI_AGAIN;
    }
    using Function = int (*)(char const*, char const*, addrinfo const*, addrinfo**);
    static auto const next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return next != nullptr ? next(node, service, hints, result) : EAI_SYSTEM;
}
