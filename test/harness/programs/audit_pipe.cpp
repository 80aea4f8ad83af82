// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The auditor for workers written in other languages: reads orders from standard input, answers each with a line.
//   audit_pipe AUDIT_FILE
//     enter CELL VALID_UNTIL   -> the number of the entry
//     extend ENTRY VALID_UNTIL -> ok
//     leave ENTRY              -> ok
// VALID_UNTIL is in ns of CLOCK_BOOTTIME and never 0: this process is not the holder. Its parent is.
#include "harness/auditor.hpp"

#include <unistd.h>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

int main(int count, char** argument)
try {
    if (count != 2)
        throw std::runtime_error("usage: audit_pipe AUDIT_FILE");
    auto auditor = tenure::test::Auditor::open(argument[1]);
    auto const holder = ::getppid();
    std::string order;
    std::uint32_t number = 0;
    std::int64_t valid_until = 0;
    while (std::cin >> order >> number) {
        if (order == "leave")
            auditor.leave(number);
        else if (!(std::cin >> valid_until) || valid_until == 0)
            throw std::runtime_error("no instant");
        else if (order == "extend")
            auditor.extend(number, valid_until);
        else if (order == "enter")
            number = auditor.enter(number, valid_until, 0, 0, holder);
        else
            throw std::runtime_error("unknown order " + order);
        std::cout << (order == "enter" ? std::to_string(number) : "ok") << std::endl;
    }
} catch (std::exception const& error) {
    std::cerr << "audit_pipe: " << error.what() << "\n";
    return 1;
}
