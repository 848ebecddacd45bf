/* SPDX-License-Identifier: Apache-2.0 */
/* quantile.c - inverse distribution functions that no C library can change. */
#include "base/quantile.h"

#include <math.h>

/* Above this shape the approximation of Wilson and Hilferty is taken as it is: there it is right to
 * 2e-7 of the value for all but one in a thousand. */
#define SHAPE_APPROXIMATE 10000.0

/* Series and continued fraction end at this relative change. */
#define PRECISION 1e-15

static double polynomial(const double *c, unsigned terms, double x)
{
	double v = c[terms - 1];

	for (unsigned i = terms - 1; i-- > 0;)
		v = v * x + c[i];
	return v;
}

/* ln of the gamma function for x > 0: Stirling's series above 10. */
static double log_gamma(double x)
{
	/* B(2k) / (2k (2k-1)), Abramowitz & Stegun 6.1.41 */
	static const double c[] = { 1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
				    1.0 / 1188, -691.0 / 360360, 1.0 / 156 };
	static const double half_log_2pi = 0.91893853320467274178;
	double product = 1;

	for (; x < 10; x += 1)
		product *= x;
	double series = polynomial(c, 7, 1 / (x * x)) / x;
	return (x - 0.5) * quantile_log(x) - x + half_log_2pi + series - quantile_log(product);
}

/* The regularised lower incomplete gamma function by its power series, for x < shape + 1
 * (Abramowitz & Stegun 6.5.29), over its first factor. */
static double gamma_series(double shape, double x)
{
	double term = 1 / shape, sum = term;

	for (double n = shape + 1; term > sum * PRECISION; n += 1) {
		term *= x / n;
		sum += term;
	}
	return sum;
}

/* The upper one by its continued fraction (6.5.31) in Lentz's form. */
static double gamma_fraction(double shape, double x)
{
	double b = x + 1 - shape;
	double c = 1e300, d = 1 / b, v = d;

	for (int i = 1; i < 10000; i++) {
		double a = -i * (i - shape);

		b += 2;
		d = 1 / (a * d + b);
		c = b + a / c;
		v *= c * d;
		if (fabs(c * d - 1) < PRECISION)
			break;
	}
	return v;
}

/* P(shape, x), and x times its density, which both ways have to know. */
static double gamma_cdf(double shape, double x, double log_gamma_shape, double *x_density)
{
	*x_density = quantile_exp(shape * quantile_log(x) - x - log_gamma_shape);
	if (x < shape + 1)
		return *x_density * gamma_series(shape, x);
	return 1 - *x_density * gamma_fraction(shape, x);
}

/* Wilson and Hilferty, PNAS 17 (1931): the cube root is nearly normal. */
static double gamma_approximate(double p, double shape)
{
	double spread = 1 / (9 * shape);
	double root = 1 - spread + quantile_normal(p) * sqrt(spread);

	return shape * root * root * root;
}

double quantile_exp(double x)
{
	static const double log2_high = 6.93147180369123816490e-01,
			    log2_low = 1.90821492927058770002e-10,
			    log2_inverse = 1.44269504088896340736;
	/* 1 / n! */
	static const double c[] = { 1.0,
				    1.0,
				    1.0 / 2,
				    1.0 / 6,
				    1.0 / 24,
				    1.0 / 120,
				    1.0 / 720,
				    1.0 / 5040,
				    1.0 / 40320,
				    1.0 / 362880,
				    1.0 / 3628800,
				    1.0 / 39916800,
				    1.0 / 479001600,
				    1.0 / 6227020800.0,
				    1.0 / 87178291200.0 };

	if (x < -745)
		return 0;
	if (x > 709)
		x = 709;
	double k = floor(x * log2_inverse + 0.5);
	double r = (x - k * log2_high) - k * log2_low;
	return ldexp(polynomial(c, 15, r), (int)k);
}

double quantile_log(double x)
{
	static const double log2_high = 6.93147180369123816490e-01,
			    log2_low = 1.90821492927058770002e-10;
	/* atanh(s) = s (1 + s^2/3 + s^4/5 + ...), |s| < 0.172 */
	static const double c[] = { 1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
				    1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23 };
	int k;
	double m = frexp(x, &k);

	if (m < 0.70710678118654752440) {
		m *= 2;
		k--;
	}
	double s = (m - 1) / (m + 1);
	return k * log2_high + (k * log2_low + 2 * s * polynomial(c, 12, s * s));
}

/* Wichura, Applied Statistics 37 (1988), algorithm AS 241, PPND16 */
static const double normal_a[] = {
	3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
	1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
	3.3430575583588128105e4, 2.5090809287301226727e3,
};
static const double normal_b[] = {
	1.0,
	4.2313330701600911252e1,
	6.8718700749205790830e2,
	5.3941960214247511077e3,
	2.1213794301586595867e4,
	3.9307895800092710610e4,
	2.8729085735721942674e4,
	5.2264952788528545610e3,
};
static const double normal_c[] = {
	1.42343711074968357734e0,  4.63033784615654529590e0,  5.76949722146069140550e0,
	3.64784832476320460504e0,  1.27045825245236838258e0,  2.41780725177450611770e-1,
	2.27238449892691845833e-2, 7.74545014278341407640e-4,
};
static const double normal_d[] = {
	1.0,
	2.05319162663775882187e0,
	1.67638483018380384940e0,
	6.89767334985100004550e-1,
	1.48103976427480074590e-1,
	1.51986665636164571966e-2,
	5.47593808499534494600e-4,
	1.05075007164441684324e-9,
};
static const double normal_e[] = {
	6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
	2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
	2.71155556874348757815e-5, 2.01033439929228813265e-7,
};
static const double normal_f[] = {
	1.0,
	5.99832206555887937690e-1,
	1.36929880922735805310e-1,
	1.48753612908506148525e-2,
	7.86869131145613259100e-4,
	1.84631831751005468180e-5,
	1.42151175831644588870e-7,
	2.04426310338993978564e-15,
};

double quantile_normal(double p)
{
	double q = p - 0.5;

	if (fabs(q) <= 0.425) {
		double r = 0.180625 - q * q;

		return q * polynomial(normal_a, 8, r) / polynomial(normal_b, 8, r);
	}
	double r = sqrt(-quantile_log(q < 0 ? p : 1 - p));
	double z = r <= 5 ? polynomial(normal_c, 8, r - 1.6) / polynomial(normal_d, 8, r - 1.6)
			  : polynomial(normal_e, 8, r - 5) / polynomial(normal_f, 8, r - 5);
	return q < 0 ? -z : z;
}

double quantile_exponential(double p)
{
	return -quantile_log(1 - p);
}

double quantile_gamma(double p, double shape)
{
	if (shape > SHAPE_APPROXIMATE)
		return gamma_approximate(p, shape);

	double log_gamma_shape = log_gamma(shape);
	/* Near 0 the first term of the series is all there is of P. */
	double least =
		quantile_exp((quantile_log(p) + quantile_log(shape) + log_gamma_shape) / shape);
	if (least < 1e-200)
		return least;
	double x = gamma_approximate(p, shape);
	if (!(x > least))
		x = least;

	/* P >= p at `least` never holds: it is the start of the bracket. */
	double low = least * (1 - 1e-9), high = HUGE_VAL;
	for (int i = 0; i < 200; i++) {
		double x_density;
		double miss = gamma_cdf(shape, x, log_gamma_shape, &x_density) - p;

		if (miss > 0)
			high = x;
		else
			low = x;
		double next = x - miss * x / x_density;
		/* Newton has left the bracket: halve it, or look further. */
		if (!(next > low && next < high))
			next = high < HUGE_VAL ? (low + high) / 2 : 2 * low;
		if (fabs(next - x) <= 1e-14 * x)
			break;
		x = next;
	}
	return x;
}
