// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a connection sends and gets: statements of one transaction, and their results.
#pragma once

#include "runtime/names.hpp"

#include <config/number_from.hpp>
#include <net/stream.hpp>
#include <tenure/backend/one_shot.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::postgresql
{

/** A statement with its parameters as text; nullopt: null. */
struct Statement {
    std::string text;
    std::vector<std::optional<std::string>> values = {};
};

/** The array of the values as the server reads it. */
[[nodiscard]] std::string array_of(std::vector<std::string> const& values);

/** One result of a statement. */
class Result
{
public:
    explicit Result(PGresult* result) noexcept
        : result_(result)
    {
    }

    [[nodiscard]] ExecStatusType status() const noexcept { return PQresultStatus(result_.get()); }
    [[nodiscard]] int rows() const noexcept { return PQntuples(result_.get()); }
    /** Empty: null, or there is no such value. */
    [[nodiscard]] std::string_view text(int column, int row = 0) const noexcept
    {
        if (row >= rows() || column >= PQnfields(result_.get()))
            return {};
        return {
            PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
    }
    [[nodiscard]] std::optional<std::int64_t> number(int column, int row = 0) const noexcept
    {
        return number_from<std::int64_t>(text(column, row));
    }
    /** Empty: the result is no error, or has no such field. */
    [[nodiscard]] std::string_view error_field(int field) const noexcept
    {
        char const* const value = PQresultErrorField(result_.get(), field);
        return value == nullptr ? std::string_view() : value;
    }
    /** What a statement without rows has done. */
    [[nodiscard]] std::string_view tag() const noexcept { return PQcmdStatus(result_.get()); }

private:
    struct Clear {
        void operator()(PGresult* result) const noexcept { PQclear(result); }
    };
    std::unique_ptr<PGresult, Clear> result_;
};

/** An error of the server. */
struct ServerError {
    /// SQLSTATE
    std::string code;
    std::string message;
};

/** How a transaction ended. */
struct TransactionReply {
    /// of each statement, once all of them are committed
    std::vector<Result> results = {};
    /// the server refused it, and changed nothing
    std::optional<ServerError> error = std::nullopt;
    /// committed, and not on the standbys that the server was to wait for
    bool unreplicated = false;
    /// set: the connection was lost first, so the effect is unknown
    net::StreamError lost = {};
};

/** Statements that take effect together. */
struct Transaction {
    std::vector<Statement> statements;
    OneShot<void(TransactionReply&&)> handler;
};

} // namespace tenure::postgresql
