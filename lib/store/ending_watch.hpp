// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <utility>

namespace tenure::store
{

/** A watch that calls a function when it ends, and owns what that function has captured until then. */
class EndingWatch final : public Watch
{
public:
    explicit EndingWatch(std::function<void()> end)
        : end_(std::move(end))
    {
    }
    EndingWatch(EndingWatch const&) = delete;
    EndingWatch& operator=(EndingWatch const&) = delete;
    ~EndingWatch() override { end_(); }

private:
    std::function<void()> end_;
};

} // namespace tenure::store
