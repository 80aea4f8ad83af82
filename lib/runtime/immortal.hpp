// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <memory>
#include <utility>

namespace tenure
{

/** A constant that is never destroyed, because threads of the library may use it while the program ends. */
template <class T>
class Immortal
{
public:
    template <class... Arguments>
    explicit Immortal(Arguments&&... arguments)
    {
        std::construct_at(std::addressof(value_), std::forward<Arguments>(arguments)...);
    }
    Immortal(Immortal const&) = delete;
    Immortal& operator=(Immortal const&) = delete;
    ~Immortal() {} // NOLINT(modernize-use-equals-default): that of a union is deleted

    [[nodiscard]] T const& operator*() const noexcept { return value_; }

private:
    union {
        T value_;
    };
};

} // namespace tenure
