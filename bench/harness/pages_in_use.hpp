// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child.hpp"

namespace bench
{

/** While it lives, another process on the server's core reads a byte of each page of this process every 20 ms. Some
 * virtual machines lose memory that they leave alone for a second, and then pay tens of microseconds for each page that
 * is used again: a process that works once a second is measured by its pages. Make it before the first thread. */
class PagesInUse
{
public:
    PagesInUse();

private:
    Child reader_;
};

} // namespace bench
